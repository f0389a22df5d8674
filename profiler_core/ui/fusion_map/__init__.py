"""The picture of what fusion did, for the overview and the fusion page."""
