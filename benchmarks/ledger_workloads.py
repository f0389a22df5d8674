"""Models on which the fusion ledger is tried: kinds of programs that once broke it.

Each function is a workload in the `file.py:function` form of `capture`: inference functions return
(model, example_inputs), training functions return a step callable that owns model, loss and
optimizer. Plain torch, random weights, sizes for a few milliseconds a step on a data-centre GPU.
With `LEDGER_TINY=1` in the environment every size shrinks, so that a CPU runs them in a second.

Each pair of docs/ledger.md is `python -m profiler_core capture
benchmarks/ledger_workloads.py:NAME --variants BASELINE,CANDIDATE --out FOLDER`.
"""

import math
import os
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812, everybody writes it so
from torch import Tensor, nn

Step = Callable[[], Tensor]
TINY = bool(os.environ.get("LEDGER_TINY"))


def default_device() -> torch.device:
    """The GPU where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def sized(full: int, tiny: int) -> int:
    """`full`, or `tiny` with LEDGER_TINY=1."""
    return tiny if TINY else full


# ---------------------------------------------------------------- depthwise convolutions


class ConvNextBlock(nn.Module):
    """Depthwise 7x7, layer norm over channels, two pointwise layers, layer scale, residual."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(dim, dim, 7, padding=3, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.expand = nn.Linear(dim, 4 * dim)
        self.project = nn.Linear(4 * dim, dim)
        self.scale = nn.Parameter(torch.full((dim,), 1e-2))

    def forward(self, x: Tensor) -> Tensor:
        y = self.depthwise(x).permute(0, 2, 3, 1)
        y = self.project(F.gelu(self.expand(self.norm(y))))
        y = self.scale * y
        return x + y.permute(0, 3, 1, 2)


class ChannelNorm(nn.Module):
    """Layer norm over the channels of an NCHW tensor, written out as ConvNeXt does."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(variance + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class ConvNext(nn.Module):
    """A ConvNeXt of three stages."""

    def __init__(self, depths: tuple[int, ...], dims: tuple[int, ...], n_classes: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, dims[0], 4, stride=4), ChannelNorm(dims[0])]
        for stage, (depth, dim) in enumerate(zip(depths, dims, strict=True)):
            if stage:
                layers += [ChannelNorm(dims[stage - 1]), nn.Conv2d(dims[stage - 1], dim, 2, 2)]
            layers += [ConvNextBlock(dim) for _ in range(depth)]
        self.body = nn.Sequential(*layers)
        self.norm = nn.LayerNorm(dims[-1])
        self.head = nn.Linear(dims[-1], n_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.body(x).mean([-2, -1])))


class InvertedResidual(nn.Module):
    """MobileNet's block: expand, depthwise, squeeze-and-excite, project, with batch norms."""

    def __init__(self, dim: int, expansion: int) -> None:
        super().__init__()
        hidden = dim * expansion
        self.expand = nn.Conv2d(dim, hidden, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(hidden)
        self.depthwise = nn.Conv2d(hidden, hidden, 5, padding=2, groups=hidden, bias=False)
        self.norm2 = nn.BatchNorm2d(hidden)
        self.squeeze = nn.Conv2d(hidden, hidden // 4, 1)
        self.excite = nn.Conv2d(hidden // 4, hidden, 1)
        self.project = nn.Conv2d(hidden, dim, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(dim)

    def forward(self, x: Tensor) -> Tensor:
        y = F.hardswish(self.norm1(self.expand(x)))
        y = F.hardswish(self.norm2(self.depthwise(y)))
        gate = F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        return x + self.norm3(self.project(y * gate))


class Mobile(nn.Module):
    """A stack of inverted residuals."""

    def __init__(self, dim: int, depth: int, n_classes: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 3, stride=4, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(dim)
        self.blocks = nn.Sequential(*(InvertedResidual(dim, 4) for _ in range(depth)))
        self.head = nn.Linear(dim, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.hardswish(self.norm(self.stem(x)))
        return self.head(self.blocks(x).mean((2, 3)))


def _classifier_step(model: nn.Module, batch: int, image: int, n_classes: int) -> Step:
    device = default_device()
    model = model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randn(batch, 3, image, image, device=device)
    target = torch.randint(0, n_classes, (batch,), device=device)

    def step() -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def convnext_training() -> Step:
    """A depthwise-convolution network, forward, loss, backward and AdamW."""
    depths = (1, 1, 2) if TINY else (3, 3, 9)
    dims = (16, 32, 64) if TINY else (96, 192, 384)
    model = ConvNext(depths, dims, 100)
    return _classifier_step(model, sized(32, 2), sized(192, 32), 100)


def mobilenet_training() -> Step:
    """Depthwise convolutions with batch norm and squeeze-and-excite, one whole training step."""
    model = Mobile(sized(96, 8), sized(10, 2), 100)
    return _classifier_step(model, sized(32, 2), sized(192, 32), 100)


def convnext() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """The depthwise-convolution network, inference or with the capture's own training loop."""
    depths = (1, 1, 2) if TINY else (3, 3, 9)
    dims = (16, 32, 64) if TINY else (96, 192, 384)
    return ConvNext(depths, dims, 100), (
        torch.randn(sized(32, 2), 3, sized(192, 32), sized(192, 32)),
    )


# ---------------------------------------------------------------- encoder-decoder


class CrossLayer(nn.Module):
    """A decoder layer: causal self-attention, cross-attention, gated feed-forward, pre-norm."""

    def __init__(self, dim: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(dim) for _ in range(3))
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out1 = nn.Linear(dim, dim)
        self.q = nn.Linear(dim, dim, bias=False)
        self.kv = nn.Linear(dim, 2 * dim, bias=False)
        self.out2 = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, 2 * dim, bias=False)
        self.up = nn.Linear(dim, 2 * dim, bias=False)
        self.down = nn.Linear(2 * dim, dim, bias=False)
        self.drop = nn.Dropout(0.1)

    def heads(self, x: Tensor) -> Tensor:
        batch, length, dim = x.shape
        return x.view(batch, length, self.n_heads, dim // self.n_heads).transpose(1, 2)

    def merge(self, x: Tensor) -> Tensor:
        batch, n_heads, length, width = x.shape
        return x.transpose(1, 2).reshape(batch, length, n_heads * width)

    def forward(self, x: Tensor, memory: Tensor, keep: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        y = F.scaled_dot_product_attention(
            self.heads(q), self.heads(k), self.heads(v), is_causal=True
        )
        x = x + self.drop(self.out1(self.merge(y)))
        q = self.heads(self.q(self.norm2(x)))
        k, v = (self.heads(t) for t in self.kv(memory).chunk(2, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~keep, float("-inf"))
        x = x + self.drop(self.out2(self.merge(scores.softmax(-1) @ v)))
        h = self.norm3(x)
        return x + self.drop(self.down(F.silu(self.gate(h)) * self.up(h)))


class EncoderDecoder(nn.Module):
    """torch's encoder layers, our own decoder layers, one embedding for input, output and head."""

    def __init__(self, vocabulary: int, dim: int, n_heads: int, depth: int, length: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.position = nn.Parameter(torch.randn(length, dim) * 0.02)
        self.encoder = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, n_heads, 4 * dim, batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.decoder = nn.ModuleList(CrossLayer(dim, n_heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        keep = (source != 0)[:, None, None, :]
        memory = self.embed(source) * math.sqrt(self.embed.embedding_dim)
        memory = memory + self.position[: source.shape[1]]
        for layer in self.encoder:
            memory = layer(memory)
        x = self.embed(target) + self.position[: target.shape[1]]
        for layer in self.decoder:
            x = layer(x, memory, keep)
        return self.norm(x) @ self.embed.weight.T


def encoder_decoder_training() -> Step:
    """An encoder-decoder transformer with label-smoothed loss, gradient clipping and AdamW."""
    device = default_device()
    vocabulary, dim, length = sized(16000, 50), sized(512, 32), sized(96, 8)
    model = EncoderDecoder(vocabulary, dim, sized(8, 2), sized(4, 1), length).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    source = torch.randint(1, vocabulary, (sized(32, 2), length), device=device)
    source[:, length // 2 :: 3] = 0
    target = torch.randint(1, vocabulary, (sized(32, 2), length), device=device)

    def step() -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        logits = model(source, target[:, :-1])
        loss = F.cross_entropy(
            logits.reshape(-1, vocabulary), target[:, 1:].reshape(-1), label_smoothing=0.1
        )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return step


# ---------------------------------------------------------------- decoder with rotary embedding


class RootMeanSquareNorm(nn.Module):
    """RMSNorm written out, computed in fp32."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * y.to(x.dtype)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class DecoderLayer(nn.Module):
    """Grouped-query attention with rotary positions, SwiGLU, RMSNorm before each."""

    def __init__(self, dim: int, n_heads: int, n_kv_heads: int) -> None:
        super().__init__()
        self.n_heads, self.n_kv_heads, self.width = n_heads, n_kv_heads, dim // n_heads
        self.norm1, self.norm2 = RootMeanSquareNorm(dim), RootMeanSquareNorm(dim)
        self.q = nn.Linear(dim, dim, bias=False)
        self.k = nn.Linear(dim, n_kv_heads * self.width, bias=False)
        self.v = nn.Linear(dim, n_kv_heads * self.width, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.gate = nn.Linear(dim, 3 * dim, bias=False)
        self.up = nn.Linear(dim, 3 * dim, bias=False)
        self.down = nn.Linear(3 * dim, dim, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape
        h = self.norm1(x)
        q = self.q(h).view(batch, length, self.n_heads, self.width).transpose(1, 2)
        k = self.k(h).view(batch, length, self.n_kv_heads, self.width).transpose(1, 2)
        v = self.v(h).view(batch, length, self.n_kv_heads, self.width).transpose(1, 2)
        q, k = _rotate(q, cos, sin), _rotate(k, cos, sin)
        repeats = self.n_heads // self.n_kv_heads
        k, v = k.repeat_interleave(repeats, dim=1), v.repeat_interleave(repeats, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, -1))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    """A language model of the Llama kind, last position's logits only."""

    def __init__(self, vocabulary: int, dim: int, n_heads: int, depth: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.layers = nn.ModuleList(
            DecoderLayer(dim, n_heads, max(n_heads // 4, 1)) for _ in range(depth)
        )
        self.norm = RootMeanSquareNorm(dim)
        self.head = nn.Linear(dim, vocabulary, bias=False)
        self.width = dim // n_heads

    def forward(self, tokens: Tensor) -> Tensor:
        position = torch.arange(tokens.shape[1], device=tokens.device)
        rate = torch.arange(0, self.width, 2, device=tokens.device).float() / self.width
        angle = torch.outer(position.float(), 10000.0**-rate)
        angle = torch.cat((angle, angle), dim=-1)
        x = self.embed(tokens)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x)[:, -1:])


def decoder() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A decoder with rotary embedding and grouped-query attention, prefill."""
    vocabulary = sized(32000, 50)
    model = Decoder(vocabulary, sized(1024, 32), sized(16, 4), sized(12, 2))
    return model, (torch.randint(0, vocabulary, (sized(4, 2), sized(512, 8))),)


# ---------------------------------------------------------------- diffusion


class ResidualBlock(nn.Module):
    """Group norm, SiLU, convolution, time embedding added in the middle."""

    def __init__(self, n_in: int, n_out: int, n_time: int) -> None:
        super().__init__()
        self.norm1 = nn.GroupNorm(8, n_in)
        self.conv1 = nn.Conv2d(n_in, n_out, 3, padding=1)
        self.time = nn.Linear(n_time, n_out)
        self.norm2 = nn.GroupNorm(8, n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1)
        self.skip = nn.Conv2d(n_in, n_out, 1) if n_in != n_out else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class SpatialAttention(nn.Module):
    """Self- and cross-attention over the pixels, with a GEGLU feed-forward."""

    def __init__(self, dim: int, n_heads: int, n_context: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm = nn.GroupNorm(8, dim)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(dim) for _ in range(3))
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out1 = nn.Linear(dim, dim)
        self.q = nn.Linear(dim, dim, bias=False)
        self.kv = nn.Linear(n_context, 2 * dim, bias=False)
        self.out2 = nn.Linear(dim, dim)
        self.expand = nn.Linear(dim, 8 * dim)
        self.project = nn.Linear(4 * dim, dim)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        heads = [t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for t in (q, k, v)]
        return F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)

    def forward(self, x: Tensor, context: Tensor) -> Tensor:
        _, _, height, width = x.shape
        h = self.norm(x).flatten(2).transpose(1, 2)
        h = h + self.out1(self.attend(*self.qkv(self.norm1(h)).chunk(3, dim=-1)))
        h = h + self.out2(self.attend(self.q(self.norm2(h)), *self.kv(context).chunk(2, dim=-1)))
        value, gate = self.expand(self.norm3(h)).chunk(2, dim=-1)
        h = h + self.project(value * F.gelu(gate))
        return x + h.transpose(1, 2).unflatten(2, (height, width))


class Unet(nn.Module):
    """One level down, a middle, one level up, with a concatenated skip."""

    def __init__(self, dim: int, n_heads: int, n_context: int) -> None:
        super().__init__()
        self.n_time = 4 * dim
        self.time1, self.time2 = nn.Linear(dim, self.n_time), nn.Linear(self.n_time, self.n_time)
        self.first = nn.Conv2d(4, dim, 3, padding=1)
        self.down1 = ResidualBlock(dim, dim, self.n_time)
        self.attend1 = SpatialAttention(dim, n_heads, n_context)
        self.shrink = nn.Conv2d(dim, dim, 3, stride=2, padding=1)
        self.down2 = ResidualBlock(dim, 2 * dim, self.n_time)
        self.attend2 = SpatialAttention(2 * dim, n_heads, n_context)
        self.middle = ResidualBlock(2 * dim, 2 * dim, self.n_time)
        self.grow = nn.Conv2d(2 * dim, dim, 3, padding=1)
        self.up1 = ResidualBlock(2 * dim, dim, self.n_time)
        self.attend3 = SpatialAttention(dim, n_heads, n_context)
        self.norm = nn.GroupNorm(8, dim)
        self.last = nn.Conv2d(dim, 4, 3, padding=1)
        self.dim = dim

    def forward(self, x: Tensor, when: Tensor, context: Tensor) -> Tensor:
        half = self.dim // 2
        rate = torch.exp(torch.arange(half, device=x.device) * (-math.log(10000.0) / half))
        angle = when[:, None].float() * rate[None]
        time = torch.cat((angle.cos(), angle.sin()), dim=-1).to(x.dtype)
        time = self.time2(F.silu(self.time1(time)))
        skip = self.attend1(self.down1(self.first(x), time), context)
        h = self.attend2(self.down2(self.shrink(skip), time), context)
        h = self.middle(h, time)
        h = self.grow(F.interpolate(h, scale_factor=2.0, mode="nearest"))
        h = self.attend3(self.up1(torch.cat((h, skip), dim=1), time), context)
        return self.last(F.silu(self.norm(h)))


def unet() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A diffusion U-Net of one level, with self- and cross-attention."""
    dim, n_context = sized(320, 16), sized(768, 24)
    model = Unet(dim, sized(8, 2), n_context)
    side = sized(64, 8)
    inputs = (
        torch.randn(sized(2, 1), 4, side, side),
        torch.arange(1, sized(2, 1) + 1),
        torch.randn(sized(2, 1), sized(77, 5), n_context),
    )
    return model, inputs


# ---------------------------------------------------------------- several graphs in a step


class TwoBreaks(nn.Module):
    """Three compiled regions: a print and a data-dependent `if` between transformer-like blocks."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.first, self.second, self.third = (
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
            for _ in range(3)
        )
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(x + torch.tanh(self.first(x)))
        torch._dynamo.graph_break()
        z = self.norm2(y + F.silu(self.second(y)))
        z = z * 0.5 if z.sum() > 1e30 else z * 2.0
        return torch.softmax(self.third(z) + y, dim=-1)


def two_breaks() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A model with two graph breaks: three compiled regions in each step."""
    dim = sized(1024, 32)
    return TwoBreaks(dim), (torch.randn(sized(2048, 8), dim),)


class ShapeNet(nn.Module):
    """A small network whose inputs come in two sizes."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, dim, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(dim)
        self.conv2 = nn.Conv2d(dim, dim, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(dim)
        self.head = nn.Linear(dim, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm1(self.conv1(x)))
        x = x + F.relu(self.norm2(self.conv2(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class TwoShapes(nn.Module):
    """Each step runs the network at two sizes, so that one code object has two compilations."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.net = ShapeNet(dim)

    def forward(self, small: Tensor, large: Tensor) -> Tensor:
        first = self.net(small)
        torch._dynamo.graph_break()
        return first + self.net(large)


def two_shapes() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A network that runs at two sizes in each step: one function, two compilations."""
    batch, side = sized(16, 2), sized(96, 8)
    inputs = (torch.randn(batch, 3, side, side), torch.randn(batch, 3, 2 * side, 2 * side))
    return TwoShapes(sized(64, 4)).eval(), inputs


# ---------------------------------------------------------------- optimizer and vision transformer


class VisionBlock(nn.Module):
    """A pre-norm transformer block with torch's own multi-head attention."""

    def __init__(self, dim: int, n_heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, n_heads, batch_first=True)
        self.expand, self.project = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.project(F.gelu(self.expand(self.norm2(x))))


class VisionTransformer(nn.Module):
    """Patches, a class token, blocks, a head."""

    def __init__(self, dim: int, n_heads: int, depth: int, n_tokens: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, dim, 16, stride=16)
        self.token = nn.Parameter(torch.zeros(1, 1, dim))
        self.position = nn.Parameter(torch.randn(1, n_tokens + 1, dim) * 0.02)
        self.blocks = nn.Sequential(*(VisionBlock(dim, n_heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 1000)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


def _vision_transformer() -> tuple[VisionTransformer, Tensor]:
    side = sized(224, 32)
    model = VisionTransformer(sized(768, 32), sized(12, 2), sized(8, 2), (side // 16) ** 2)
    return model, torch.randn(sized(16, 2), 3, side, side)


def vision_transformer() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A vision transformer, the candidate for max-autotune's GEMM templates."""
    model, image = _vision_transformer()
    return model.eval(), (image,)


def compiled_optimizer() -> Step:
    """A vision transformer's training step whose optimizer is compiled in the candidate.

    The step is one function: compiled, it holds forward, loss, and (after the break at
    `backward`) the optimizer's own compiled graph.
    """
    device = default_device()
    model, image = _vision_transformer()
    model, image = model.to(device).train(), image.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)
    target = torch.randint(0, 1000, (image.shape[0],), device=device)

    def step() -> Tensor:
        loss = F.cross_entropy(model(image), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def vision_transformer_bf16_training() -> Step:
    """A vision transformer's training step under bf16 autocast; the optimizer stays eager."""
    device = default_device()
    model, image = _vision_transformer()
    model, image = model.to(device).train(), image.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)
    target = torch.randint(0, 1000, (image.shape[0],), device=device)

    @torch.compiler.disable
    def update() -> None:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def step() -> Tensor:
        with torch.autocast(device.type, torch.bfloat16):
            loss = F.cross_entropy(model(image), target)
        loss.backward()
        update()
        return loss.detach()

    return step


class HostIndices(nn.Module):
    """Picks rows by indices that are made on the host: a CPU tensor inside of the graph."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x))
        rows = torch.randperm(x.shape[0])[: x.shape[0] // 2]
        return self.second(x[rows.to(x.device)])


def host_indices() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """What CUDA graphs are skipped for: reduce-overhead says so in its log and runs without."""
    dim = sized(512, 16)
    return HostIndices(dim), (torch.randn(sized(256, 8), dim),)


INFERENCE = (convnext, decoder, unet, two_breaks, two_shapes, vision_transformer, host_indices)
TRAINING = (
    convnext_training,
    mobilenet_training,
    encoder_decoder_training,
    compiled_optimizer,
    vision_transformer_bf16_training,
)
