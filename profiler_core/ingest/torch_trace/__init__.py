"""TORCH_TRACE structured logs."""
