"""The report of a comparison, from the overview."""
