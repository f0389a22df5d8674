"""The stages of a recording, one after the other: what each does at the ends of steps."""
