"""Which runs there are: samples, captures, uploads."""
