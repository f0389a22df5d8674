"""The overview, from the verdict down."""
