# mypy: allow-subclassing-any
"""Further models that come with Fusionscope: what people compile beside the classics.

Small by default; sizes are options of the workloads (`more_workloads`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812


class Expert(nn.Module):
    """A gated MLP over the tokens that were sent to it; how many there are, the data say."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, tokens: Any, is_sent: Any, weights: Any) -> Any:
        """Tokens (n, width), whether a choice sends one (n, k), weights (n, k) -> (n, width)."""
        rows, places = is_sent.nonzero(as_tuple=True)
        part = tokens[rows]
        made = self.down(F.silu(self.gate(part)) * self.up(part)) * weights[rows, places, None]
        return torch.zeros_like(tokens).index_add(0, rows, made.to(tokens.dtype))


class MixtureOfExperts(nn.Module):
    """A router that sends each token to its two best experts.

    Dynamo breaks the graph at each expert's `nonzero`.
    """

    def __init__(self, width: int = 128, n_experts: int = 4, n_chosen: int = 2) -> None:
        super().__init__()
        self.n_chosen = n_chosen
        self.router = nn.Linear(width, n_experts)
        self.experts = nn.ModuleList(Expert(width) for _ in range(n_experts))

    def forward(self, x: Any) -> Any:
        """(batch, length, width) -> the same shape."""
        tokens = x.reshape(-1, x.shape[-1])
        weights, chosen = self.router(tokens).softmax(-1).topk(self.n_chosen, dim=-1)
        for number, expert in enumerate(self.experts):
            tokens = tokens + expert(tokens, chosen == number, weights)
        return tokens.view_as(x)


class GroupedDecoder(nn.Module):
    """One decoding step of a decoder: grouped queries over a static cache of keys and values."""

    def __init__(
        self, width: int = 256, n_heads: int = 8, n_groups: int = 2, n_cached: int = 128,
        n_layers: int = 2, n_tokens: int = 1000, batch: int = 1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, width)
        self.layers = nn.ModuleList(
            _CachedBlock(width, n_heads, n_groups, n_cached, batch) for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, n_tokens, bias=False)

    def forward(self, token: Any, position: Any) -> Any:
        """Token ids (batch, 1) and the position (1,) -> logits (batch, 1, tokens)."""
        x = self.embedding(token)
        for layer in self.layers:
            x = layer(x, position)
        return self.head(self.norm(x))


class _CachedBlock(nn.Module):
    def __init__(self, width: int, n_heads: int, n_groups: int, n_cached: int, batch: int) -> None:
        super().__init__()
        self.n_heads, self.n_groups, self.size = n_heads, n_groups, width // n_heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key_value = nn.Linear(width, 2 * n_groups * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        shape = (batch, n_groups, n_cached, self.size)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, x: Any, position: Any) -> Any:
        """(batch, 1, width) -> the same shape; writes the cache at the position."""
        batch = x.shape[0]
        h = self.norm1(x)
        query = self.query(h).view(batch, 1, self.n_heads, self.size).transpose(1, 2)
        key, value = self.key_value(h).view(batch, 1, 2 * self.n_groups, self.size).transpose(
            1, 2
        ).chunk(2, dim=1)  # fmt: skip
        self.keys.index_copy_(2, position, key.to(self.keys.dtype))
        self.values.index_copy_(2, position, value.to(self.values.dtype))
        seen = torch.arange(self.keys.shape[2], device=x.device)[None, None, None] <= position
        repeats = self.n_heads // self.n_groups
        keys = self.keys.repeat_interleave(repeats, dim=1).to(query.dtype)
        values = self.values.repeat_interleave(repeats, dim=1).to(query.dtype)
        attended = F.scaled_dot_product_attention(query, keys, values, attn_mask=seen)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, 1, -1))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class DiTBlock(nn.Module):
    """A diffusion transformer's block: attention and MLP, shifted and scaled by the condition."""

    def __init__(self, width: int = 256, n_heads: int = 4) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.modulation = nn.Linear(width, 6 * width)

    def forward(self, x: Any, condition: Any) -> Any:
        """Patches (batch, length, width) and condition (batch, width) -> patches."""
        batch, length, width = x.shape
        shift1, scale1, gate1, shift2, scale2, gate2 = self.modulation(F.silu(condition))[
            :, None
        ].chunk(6, dim=-1)
        h = self.norm1(x) * (1 + scale1) + shift1
        q, k, v = (
            t.view(batch, length, self.n_heads, -1).transpose(1, 2)
            for t in self.qkv(h).chunk(3, dim=-1)
        )
        attended = F.scaled_dot_product_attention(q, k, v)
        x = x + gate1 * self.out(attended.transpose(1, 2).reshape(batch, length, width))
        h = self.norm2(x) * (1 + scale2) + shift2
        return x + gate2 * self.down(F.gelu(self.up(h), approximate="tanh"))


class DiT(nn.Module):
    """Patches of a latent, blocks that a time modulates, and the noise of each patch."""

    def __init__(self, width: int = 256, n_layers: int = 2, channels: int = 4) -> None:
        super().__init__()
        self.patches = nn.Conv2d(channels, width, 2, stride=2)
        self.time = nn.Linear(256, width)
        self.blocks = nn.ModuleList(DiTBlock(width) for _ in range(n_layers))
        self.norm = nn.LayerNorm(width)
        self.noise = nn.Linear(width, 4 * channels)

    def forward(self, latent: Any, time: Any) -> Any:
        """Latent (batch, channels, height, width), features of the time -> noise of each patch."""
        x = self.patches(latent).flatten(2).transpose(1, 2)
        condition = self.time(time)
        for block in self.blocks:
            x = block(x, condition)
        return self.noise(self.norm(x))


class GraphNetwork(nn.Module):
    """Message passing over edges: gather, an MLP for each message, and a sum at each node."""

    def __init__(self, width: int = 64, n_layers: int = 3) -> None:
        super().__init__()
        self.messages = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(n_layers))
        self.updates = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(n_layers))

    def forward(self, nodes: Any, edges: Any) -> Any:
        """Features (nodes, width) and edges (2, n) -> features."""
        source, target = edges[0], edges[1]
        for message, update in zip(self.messages, self.updates):
            sent = F.relu(message(torch.cat([nodes[source], nodes[target]], dim=-1)))
            gathered = torch.zeros_like(nodes).index_add(0, target, sent.to(nodes.dtype))
            nodes = nodes + F.relu(update(torch.cat([nodes, gathered], dim=-1)))
        return nodes


class FlexAttention(nn.Module):
    """Causal attention within a window, by torch's flex_attention."""

    def __init__(self, width: int = 128, n_heads: int = 4, window: int = 64) -> None:
        super().__init__()
        self.n_heads, self.window = n_heads, window
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        """(batch, length, width) -> the same shape."""
        from torch.nn.attention.flex_attention import flex_attention

        batch, length, width = x.shape
        q, k, v = (
            t.view(batch, length, self.n_heads, -1).transpose(1, 2)
            for t in self.qkv(x).chunk(3, dim=-1)
        )

        def windowed(score: Any, _batch: Any, _head: Any, query: Any, key: Any) -> Any:
            is_seen = (query >= key) & (query - key < self.window)
            return torch.where(is_seen, score, -float("inf"))

        attended = flex_attention(q, k, v, score_mod=windowed)
        return x + self.out(attended.transpose(1, 2).reshape(batch, length, width))


class DLRM(nn.Module):
    """A recommender: bags of embeddings, their products with the dense part, and an MLP."""

    def __init__(self, n_tables: int = 8, n_rows: int = 1000, width: int = 32) -> None:
        super().__init__()
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(n_rows, width, mode="sum") for _ in range(n_tables)
        )
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        pairs = (n_tables + 1) * n_tables // 2
        self.top = nn.Sequential(nn.Linear(pairs + width, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense: Any, sparse: Any) -> Any:
        """Dense features (batch, 13) and ids (tables, batch, bag) -> logits (batch, 1)."""
        bottom = self.bottom(dense)
        bags = [table(ids) for table, ids in zip(self.tables, sparse)]
        features = torch.stack([bottom, *bags], dim=1)
        products = features @ features.transpose(1, 2)
        n = features.shape[1]
        rows, columns = torch.tril_indices(n, n, offset=-1, device=dense.device)
        return self.top(torch.cat([products[:, rows, columns], bottom], dim=1))
