"""The raw page of Nsight Compute as CSV."""
