"""The compilation page, part by part."""
