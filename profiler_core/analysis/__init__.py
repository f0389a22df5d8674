"""Questions about a run: pure functions from the model to frozen results."""
