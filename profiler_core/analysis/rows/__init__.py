"""Rows of tables that a page and a report both show: made once as text, drawn by each."""
