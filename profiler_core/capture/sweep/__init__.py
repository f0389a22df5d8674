"""A series of captures that differ in one option: what is asked for, and running it."""
