# mypy: allow-subclassing-any
"""The models that come with Fusionscope, as plain torch modules."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812


class CustomCNN(nn.Module):
    """Three convolutions with ReLU and pooling, then a linear classifier."""

    def __init__(self, n_classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 64, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(64, n_classes)

    def forward(self, x: Any) -> Any:
        """(batch, 3, height, width) -> (batch, n_classes)."""
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = F.relu(self.conv3(x))
        return self.head(x.mean(dim=(2, 3)))


class SimpleCNN(nn.Module):
    """Two convolutions with batch normalisation and dropout: the model of the training loop."""

    def __init__(self, n_classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(64)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(64 * 64, 128)
        self.fc2 = nn.Linear(128, n_classes)

    def forward(self, x: Any) -> Any:
        """(batch, 3, height, width) -> (batch, n_classes)."""
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.relu(self.norm2(self.conv2(x)))
        x = self.dropout(F.adaptive_avg_pool2d(x, 8).flatten(1))
        return self.fc2(F.relu(self.fc1(x)))


class TransformerBlock(nn.Module):
    """Pre-norm self-attention and MLP, as in GPT and ViT; no dropout."""

    def __init__(self, width: int = 512, n_heads: int = 8) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        """(batch, length, width) -> the same shape."""
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (
            t.view(batch, length, self.n_heads, width // self.n_heads).transpose(1, 2)
            for t in (q, k, v)
        )
        attended = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class ShardableBlock(nn.Module):
    """TransformerBlock with a layer each for query, key and value.

    So heads can be shared out over ranks: a part of the output features is whole heads.
    """

    def __init__(self, width: int = 512, n_heads: int = 8) -> None:
        super().__init__()
        self.head_width = width // n_heads
        self.norm1 = nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        """(batch, length, width) -> the same shape."""
        batch, length, _ = x.shape
        h = self.norm1(x)
        q, k, v = (
            layer(h).view(batch, length, -1, self.head_width).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        attended = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, -1))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class ResBlock(nn.Module):
    """Residual block with a time embedding: GroupNorm, SiLU, convolution, twice."""

    def __init__(self, channels: int, n_embedding: int) -> None:
        super().__init__()
        self.norm1 = nn.GroupNorm(32, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.embedding = nn.Linear(n_embedding, channels)
        self.norm2 = nn.GroupNorm(32, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Any, t: Any) -> Any:
        """Image (batch, channels, height, width) and embedding (batch, n) -> the same shape."""
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.embedding(F.silu(t))[:, :, None, None]
        return x + self.conv2(F.silu(self.norm2(h)))


class SpatialAttention(nn.Module):
    """Self-attention over the pixels, then cross-attention to a text of `n_context` features."""

    def __init__(self, channels: int, n_context: int, n_heads: int = 8) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm = nn.GroupNorm(32, channels)
        self.self_qkv = nn.Linear(channels, 3 * channels)
        self.self_out = nn.Linear(channels, channels)
        self.cross_norm = nn.LayerNorm(channels)
        self.cross_q = nn.Linear(channels, channels)
        self.cross_kv = nn.Linear(n_context, 2 * channels)
        self.cross_out = nn.Linear(channels, channels)

    def _heads(self, x: Any) -> Any:
        return x.view(x.shape[0], x.shape[1], self.n_heads, -1).transpose(1, 2)

    def _attend(self, q: Any, k: Any, v: Any) -> Any:
        mixed = F.scaled_dot_product_attention(self._heads(q), self._heads(k), self._heads(v))
        return mixed.transpose(1, 2).reshape(q.shape)

    def forward(self, x: Any, context: Any) -> Any:
        """Image (batch, channels, height, width) and text (batch, length, n) -> the same shape."""
        batch, channels, height, width = x.shape
        h = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = self.self_qkv(h).chunk(3, dim=-1)
        h = h + self.self_out(self._attend(q, k, v))
        k, v = self.cross_kv(context).chunk(2, dim=-1)
        h = h + self.cross_out(self._attend(self.cross_q(self.cross_norm(h)), k, v))
        return x + h.transpose(1, 2).reshape(batch, channels, height, width)


class UNetBlock(nn.Module):
    """One level of a latent-diffusion U-Net: ResBlock, attention, ResBlock."""

    def __init__(self, channels: int = 320, n_embedding: int = 1280, n_context: int = 768) -> None:
        super().__init__()
        self.res1 = ResBlock(channels, n_embedding)
        self.attention = SpatialAttention(channels, n_context)
        self.res2 = ResBlock(channels, n_embedding)

    def forward(self, x: Any, t: Any, context: Any) -> Any:
        """Latent, time embedding, text -> latent."""
        return self.res2(self.attention(self.res1(x, t), context), t)


class Breaky(nn.Module):
    """Breaks the graph on purpose: a data-dependent if, a print, an attribute that changes."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.counter = 0

    def forward(self, x: Any) -> Any:
        """(batch, width) -> the same shape."""
        x = torch.relu(self.first(x))
        if x.sum().item() > 0:  # the value decides: Dynamo must stop here
            x = x * 2
        print("breaky: half way")
        self.counter += 1  # an int of the module, and so a guard of the compiled code
        x = x + self.counter * 1e-6
        return torch.sigmoid(self.second(x))


class DynShape(nn.Module):
    """Two convolutions and a pooled head: cheap to run under many shapes."""

    def __init__(self, n_classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 32, 3, padding=1)
        self.head = nn.Linear(32, n_classes)

    def forward(self, x: Any) -> Any:
        """(batch, 3, height, width) -> (batch, n_classes)."""
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.head(x.mean(dim=(2, 3)))
