"""The counters pass: one step of a variant under Nsight Compute, after everything was timed."""
