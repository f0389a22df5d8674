"""Files into the model, one module per format; counts what it skipped, decides nothing."""
