"""Hardware counters on the pages about kernels and fusion."""
