"""Captures in environments with other versions of torch (`make test-matrix`): gigabytes each."""
