"""The report as one HTML file: a summary on the first page, then a chapter for each question."""
