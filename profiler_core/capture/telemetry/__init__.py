"""Telemetry while a capture runs: what is read (GPU, process) and the loop that reads it."""
