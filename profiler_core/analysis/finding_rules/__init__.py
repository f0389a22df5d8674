"""The rules behind findings.py, one module for each kind of cause."""
