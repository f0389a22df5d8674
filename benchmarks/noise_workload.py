"""Models whose step is bound by the host, by small kernels or by products; see noise_captures."""

import torch
from torch import nn

# width, layers, batch: on an H200 about 0.3 ms of launches, 1 ms and 5 ms of kernels
_SIZES = {"launches": (256, 16, 8), "small": (2048, 16, 2048), "products": (4096, 8, 8192)}


def model(size="launches"):
    """Linear layers with a GELU between them."""
    width, n_layers, batch_size = _SIZES[size]
    layers = []
    for _ in range(n_layers):
        layers += [nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*layers), torch.randn(batch_size, width)
