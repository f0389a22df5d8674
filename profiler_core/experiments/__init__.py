"""Experiments: which settings are tried on a workload, how they are timed, where they are kept."""
