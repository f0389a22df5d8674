"""Kernels that a CUDA or HIP graph replays, and the calls that were recorded in its capture."""
