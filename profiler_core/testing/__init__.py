"""The pytest plugin: what torch.compile must do to a model, as tests of the model's own suite."""
