"""What torch.compile did to a PyTorch model: capture, ingest, analyse, show.

The stages run in one direction; tests/test_layers.py says who may import whom.
"""

__version__ = "0.1.0"
