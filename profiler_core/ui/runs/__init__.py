"""The runs page: the list, opening by path, comparing across captures."""
