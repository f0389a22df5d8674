"""Samples of GPUs and processes: one reader for both files of JSON lines."""
