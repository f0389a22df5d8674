"""What Inductor did not fuse: pairs of calls that hand an intermediate over through memory."""
