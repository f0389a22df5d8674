"""A user's own training loop records itself: one import, a `with`, a `step()`.

Runs in the user's process and environment: imports the standard library and torch, and of ours
only what does the same (tests/record/test_imports.py). Python 3.8 and torch 2.1 on.
"""

from profiler_core.record.recorder import Recorder

__all__ = ["Recorder"]
