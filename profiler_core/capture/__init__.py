"""Runs workloads in child processes and leaves run directories; no torch in the launcher."""
