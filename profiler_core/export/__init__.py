"""Runs as files for other tools; computes no number of its own."""
