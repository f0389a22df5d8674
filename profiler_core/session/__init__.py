"""What is known of a run, and of a baseline beside its candidates: asked by every surface."""
