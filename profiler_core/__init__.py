"""What torch.compile did to a PyTorch model: capture, ingest, analyse, show.

The stages run in one direction; tests/test_layers.py says who may import whom.
"""

import os

__version__ = "0.1.0"

# polars' allocator keeps freed memory for 10 s: a quarter of the peak of reading a trace, and of
# what the server holds afterwards. It reads this once, when polars is imported, which is later.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:30,muzzy_decay_ms:0")
