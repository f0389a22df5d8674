"""Runs the user's own command with torch's logs on, and completes the runs of its Recorders."""
