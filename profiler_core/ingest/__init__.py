"""Readers of files into records of the model, one module per format, with counts of skips."""
