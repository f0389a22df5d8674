"""The page of what people did."""
