"""What a run is: frozen records and columnar tables, columns declared once."""
