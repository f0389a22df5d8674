"""What only recordings of Nsight Systems ask for: which ranges are the steps, which process."""
