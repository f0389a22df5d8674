"""The page of reviews: the list, the weekly template, and one review with notes and names."""
