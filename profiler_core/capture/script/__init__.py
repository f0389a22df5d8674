"""Runs the user's own command with torch's logs on, and finishes what its Recorders left."""
