"""A small diffusion U-Net inside the loop of a DDIM scheduler.

    python -m profiler_core capture docs/examples/diffusion.py:build --option size=large \
        --variants eager,default,default+target=step,reduce-overhead --out runs/
"""

import math

import torch
from torch import nn
from torch.nn.functional import interpolate, silu

SIZES = {"tiny": (32, 16, 2), "large": (256, 64, 4)}  # channels, latent size, blocks of a level


class Block(nn.Module):
    """Two convolutions with the time of the step between them."""

    def __init__(self, channels):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(8, channels), nn.GroupNorm(8, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Linear(channels, channels)

    def forward(self, x, t):
        h = self.conv1(silu(self.norm1(x))) + self.time(t)[:, :, None, None]
        return x + self.conv2(silu(self.norm2(h)))


class UNet(nn.Module):
    """Two levels with a skip; predicts the noise."""

    def __init__(self, channels, n_blocks):
        super().__init__()
        self.channels = channels
        self.enter, self.leave = nn.Conv2d(4, channels, 3, padding=1), nn.Conv2d(channels, 4, 1)
        self.down = nn.ModuleList(Block(channels) for _ in range(n_blocks))
        self.middle = nn.ModuleList(Block(channels) for _ in range(n_blocks))
        self.up = nn.ModuleList(Block(channels) for _ in range(n_blocks))

    def forward(self, x, time):
        half = self.channels // 2
        rates = torch.exp(-math.log(10000.0) * torch.arange(half, device=x.device) / half)
        angles = time[:, None].to(x.dtype) * rates.to(x.dtype)[None]
        t = torch.cat([angles.sin(), angles.cos()], dim=1)
        x = self.enter(x)
        for block in self.down:
            x = block(x, t)
        h = x[:, :, ::2, ::2]
        for block in self.middle:
            h = block(h, t)
        x = x + interpolate(h, scale_factor=2.0)
        for block in self.up:
            x = block(x, t)
        return self.leave(x)


def build(size="tiny", batch_size=1, n_steps=4):
    """One step is a whole image: `n_steps` calls of the U-Net with DDIM between them."""
    channels, latent, n_blocks = SIZES[size]
    model = UNet(channels, n_blocks)
    noise_left = torch.cumprod(1.0 - torch.linspace(1e-4, 0.02, 1000), dim=0).tolist()
    times = list(range(999, -1, -(1000 // n_steps)))[:n_steps]

    def denoise(x):
        for number, time in enumerate(times):
            now = noise_left[time]
            then = noise_left[times[number + 1]] if number + 1 < len(times) else 1.0
            noise = model(x, torch.full((x.shape[0],), time, device=x.device))
            image = (x - math.sqrt(1.0 - now) * noise) / math.sqrt(now)
            x = math.sqrt(then) * image + math.sqrt(1.0 - then) * noise
        return x

    return {
        "model": model,
        "generate": denoise,
        "inputs": torch.randn(batch_size, 4, latent, latent),
    }
