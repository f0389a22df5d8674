"""The same code three times, one of them with a sleep planted into it; see gate_power.py.

Every variant runs eager (`torch.compiler.disable`), so that their names alone tell them apart.
"""

import os
import time

import torch
from torch import nn

SLOW = "aot_eager_decomp_partition"  # the variant that sleeps
_LATE_S = 0.0002  # a sleep ends up to so much late; the rest is waited for


class Work(nn.Module):
    """Matrix products, then a sleep of a share of what they took."""

    def __init__(self, width: int, depth: int, share: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.share = share

    @torch.compiler.disable
    def forward(self, x):
        begin = time.perf_counter()
        for layer in self.layers:
            x = layer(x).relu()
        if x.is_cuda:
            torch.cuda.synchronize()
        if self.share:
            now = time.perf_counter()
            until = now + self.share * (now - begin)
            time.sleep(max(0.0, until - now - _LATE_S))
            while time.perf_counter() < until:
                pass
        return x


def model(width: int = 512, depth: int = 8, share: float = 0.05, batch_size: int = 64):
    """A capture gives each variant a cache folder with the variant's name in its path."""
    is_slow = f"/{SLOW}/" in os.environ.get("TORCHINDUCTOR_CACHE_DIR", "")
    work = Work(width, depth, share if is_slow else 0.0)
    torch.set_num_threads(1)  # on a CPU: threads that wait for a core are noise of the machine
    return work, torch.randn(batch_size, width)
