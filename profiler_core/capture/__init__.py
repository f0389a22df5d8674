"""Runs workloads in child processes and leaves run directories; the launcher here has no torch in it."""
