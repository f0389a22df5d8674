"""Small models, each with what once led the ledger astray, as steps that a CPU runs in a moment."""

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812, everybody writes it so
from torch import Tensor, nn

Step = Callable[[], object]
Wrap = Callable[[nn.Module], Callable[..., Tensor]]
_DIM, _HEADS, _LENGTH, _BATCH, _WORDS = 64, 4, 32, 2, 101


def _heads(x: Tensor) -> Tensor:
    return x.unflatten(-1, (_HEADS, _DIM // _HEADS)).transpose(1, 2)


class _RootMeanSquare(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(_DIM))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def _turned(x: Tensor) -> Tensor:
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class _RotaryLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = _RootMeanSquare(), _RootMeanSquare()
        self.q, self.k, self.v, self.o = (nn.Linear(_DIM, _DIM, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(_DIM, 2 * _DIM, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * _DIM, _DIM, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        h = self.norm1(x)
        q, k, v = _heads(self.q(h)), _heads(self.k(h)), _heads(self.v(h))
        q = q * cos + _turned(q) * sin
        k = k * cos + _turned(k) * sin
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class _Rotary(nn.Module):
    """Rotary embeddings and an explicit causal mask: one kernel writes the mask of all layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(_WORDS, _DIM)
        self.layers = nn.ModuleList(_RotaryLayer() for _ in range(3))
        self.norm = _RootMeanSquare()
        frequency = 10000 ** (-torch.arange(0, _DIM // _HEADS, 2) / (_DIM // _HEADS))
        self.register_buffer("frequency", frequency)

    def forward(self, words: Tensor) -> Tensor:
        x = self.embed(words)
        places = torch.arange(words.shape[1], device=words.device)
        angle = places[:, None].float() * self.frequency
        angle = torch.cat((angle, angle), dim=-1)
        cos, sin = angle.cos(), angle.sin()
        causal = places[None, :] <= places[:, None]
        mask = torch.where(causal, 0.0, -65536.0)[None, None]
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return self.norm(x)


class _BiasedLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(_DIM), nn.LayerNorm(_DIM)
        self.q, self.k, self.v, self.o = (nn.Linear(_DIM, _DIM, bias=False) for _ in range(4))
        self.expand, self.project = nn.Linear(_DIM, 2 * _DIM), nn.Linear(2 * _DIM, _DIM)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        h = self.norm1(x)
        q, k, v = _heads(self.q(h)), _heads(self.k(h)), _heads(self.v(h))
        weights = (q @ k.transpose(-2, -1) + bias).softmax(-1)
        x = x + self.drop(self.o((weights @ v).transpose(1, 2).flatten(2)))
        return x + self.project(F.relu(self.expand(self.norm2(x))))


class _RelativeBias(nn.Module):
    """A learned bias by distance: its gradient is added up by atomics in a softmax's backward."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(_WORDS, _DIM)
        self.bias = nn.Embedding(8, _HEADS)
        self.layers = nn.ModuleList(_BiasedLayer() for _ in range(2))
        self.norm = nn.LayerNorm(_DIM)

    def forward(self, words: Tensor) -> Tensor:
        places = torch.arange(words.shape[1], device=words.device)
        bucket = (places[None, :] - places[:, None]).abs().clamp(max=7)
        bias = self.bias(bucket).permute(2, 0, 1)[None]
        x = self.embed(words)
        for layer in self.layers:
            x = layer(x, bias)
        return self.norm(x) @ self.embed.weight.T  # one weight for both ends


class _Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(_DIM), nn.LayerNorm(_DIM)
        self.qkv, self.out = nn.Linear(_DIM, 3 * _DIM), nn.Linear(_DIM, _DIM)
        self.expand, self.project = nn.Linear(_DIM, 4 * _DIM), nn.Linear(4 * _DIM, _DIM)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (_heads(part) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.project(F.gelu(self.expand(self.norm2(x))))


class _Patches(nn.Module):
    """Equal blocks in training: the same generated kernels, called once for each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, _DIM, 8, stride=8)
        self.position = nn.Parameter(torch.randn(1, 16, _DIM) * 0.02)
        self.blocks = nn.ModuleList(_Block() for _ in range(3))
        self.norm, self.head = nn.LayerNorm(_DIM), nn.Linear(_DIM, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


class _Inverted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.expand = nn.Conv2d(16, 64, 1, bias=False)
        self.depthwise = nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False)
        self.project = nn.Conv2d(64, 16, 1, bias=False)
        self.norm1, self.norm2, self.norm3 = (nn.BatchNorm2d(c) for c in (64, 64, 16))

    def forward(self, x: Tensor) -> Tensor:
        y = F.hardswish(self.norm1(self.expand(x)))
        y = F.hardswish(self.norm2(self.depthwise(y)))
        return x + self.norm3(self.project(y))


class _Mobile(nn.Module):
    """Depthwise convolutions and batch norms in training, with residuals."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(*(_Inverted() for _ in range(3)))
        self.head = nn.Linear(16, 10)

    def forward(self, image: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(image)).mean((2, 3)))


def _training(model: nn.Module, inputs: Tensor, n_classes: int, wrap: Wrap) -> Step:
    model.train()
    run = wrap(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> object:
        out = run(inputs).reshape(-1, n_classes)
        target = torch.arange(out.shape[0]) % n_classes
        loss = F.cross_entropy(out, target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def _words() -> Tensor:
    return torch.arange(_BATCH * _LENGTH).reshape(_BATCH, _LENGTH) % _WORDS


def rotary(wrap: Wrap) -> Step:
    """Inference of a decoder with rotary embeddings."""
    run, words = wrap(_Rotary().eval()), _words()

    def step() -> object:
        with torch.no_grad():
            return run(words)

    return step


def rotary_training(wrap: Wrap) -> Step:
    """The same, trained."""
    return _training(_Rotary(), _words(), _DIM, wrap)


def relative_bias_training(wrap: Wrap) -> Step:
    """A learned relative bias, dropout, and one weight for embedding and head."""
    return _training(_RelativeBias(), _words(), _WORDS, wrap)


def patches_training(wrap: Wrap) -> Step:
    """A vision transformer of three equal blocks."""
    return _training(_Patches(), torch.randn(_BATCH, 3, 32, 32), 10, wrap)


def mobile_training(wrap: Wrap) -> Step:
    """Three equal inverted residuals."""
    return _training(_Mobile(), torch.randn(_BATCH, 3, 32, 32), 10, wrap)


WORKLOADS = {
    one.__name__: one
    for one in (rotary, rotary_training, relative_bias_training, patches_training, mobile_training)
}
