"""What is known about one thing: the record, and the parts of it that are computed here."""
