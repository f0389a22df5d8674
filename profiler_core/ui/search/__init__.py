"""Search everywhere: one box on every page, opened by / and Ctrl-K."""
