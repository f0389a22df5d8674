"""The pictures of a sweep: each measure against the swept value."""
