"""The chosen runs as one trace: downloaded, or handed to Perfetto in another tab."""
