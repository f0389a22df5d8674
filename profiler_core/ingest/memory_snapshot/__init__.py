"""Memory snapshots of torch.cuda.memory: a pickle, read as plain data only, into columns."""
