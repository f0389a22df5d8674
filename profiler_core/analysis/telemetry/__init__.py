"""What samples of the GPU and of the process say about a run, and about a comparison."""
