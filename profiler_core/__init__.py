"""What torch.compile did to a PyTorch model: capture, ingest, analyse, show.

The stages run in one direction; the contracts in pyproject.toml say who
may import whom.
"""

import os

__version__ = "0.1.0"

# polars' allocator keeps freed memory for a while: a fifth of the peak of reading a trace, and of
# what the server holds afterwards. It reads this when polars is imported, which is later; the last
# of several settings holds, and polars puts its own in front (polars/__init__.py).
_ALLOCATOR = "dirty_decay_ms:30,muzzy_decay_ms:0"
if _ALLOCATOR not in os.environ.get("_RJEM_MALLOC_CONF", ""):
    os.environ["_RJEM_MALLOC_CONF"] = ",".join(
        filter(None, (os.environ.get("_RJEM_MALLOC_CONF"), _ALLOCATOR))
    )
