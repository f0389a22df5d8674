"""The page of modules: where the time goes by nn.Module and by operator."""
