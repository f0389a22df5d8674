"""The analyses as tools of a Model Context Protocol server; computes no number of its own."""
