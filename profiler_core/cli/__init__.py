"""The same analyses without a browser, one small module per verb."""
