"""The page telemetry: recorded runs, and this machine as it is now."""
