"""Models that people compile in 2026, captured to judge the fusion ledger on programs it never saw.

Each function is a workload in the `file.py:function` form of `capture`: inference functions return
(model, example_inputs), training functions return a step callable that owns model, loss and
optimizer. Random weights; with `LEDGER_TINY=1` in the environment every size shrinks, so that a CPU
runs them in a second. `capture_pairs` captures all of them below one folder.

    python -m benchmarks.judge_workloads FOLDER [NAME …]
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812, everybody writes it so
from torch import Tensor, nn

from benchmarks.ledger_workloads import TINY, Step, default_device, sized


def _training_step(model: nn.Module, loss_of: Callable[[nn.Module], Tensor]) -> Step:
    """Forward, loss and backward as one function, AdamW outside of the compiled part."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)

    @torch.compiler.disable
    def update() -> None:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def step() -> Tensor:
        loss = loss_of(model)
        loss.backward()
        update()
        return loss.detach()

    return step


# ---------------------------------------------------------------- transformers from their configs


def _llama_config() -> object:
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=sized(8000, 200),
        hidden_size=sized(1024, 32),
        intermediate_size=sized(2816, 64),
        num_hidden_layers=sized(6, 2),
        num_attention_heads=sized(16, 4),
        num_key_value_heads=sized(4, 2),
        max_position_embeddings=1024,
        use_cache=False,
    )


class Logits(nn.Module):
    """A causal language model whose answer is its logits alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model(input_ids=tokens).logits


def llama() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Prefill of a decoder with rotary embedding, grouped queries and RMS norms."""
    from transformers import LlamaForCausalLM

    model = LlamaForCausalLM(_llama_config()).eval()
    return Logits(model), (torch.randint(0, sized(8000, 200), (sized(4, 2), sized(512, 16))),)


def t5_training() -> Step:
    """An encoder-decoder with a learned relative position bias: its gradient needs atomic adds."""
    from transformers import T5Config, T5ForConditionalGeneration

    vocabulary = sized(4000, 100)
    config = T5Config(
        vocab_size=vocabulary,
        d_model=sized(512, 32),
        d_kv=sized(64, 8),
        d_ff=sized(1024, 64),
        num_layers=sized(4, 2),
        num_heads=sized(8, 4),
        dropout_rate=0.0,
        decoder_start_token_id=0,
        pad_token_id=0,
    )
    device = default_device()
    model = T5ForConditionalGeneration(config).to(device).train()
    shape = (sized(8, 2), sized(256, 16))
    tokens = torch.randint(1, vocabulary, shape, device=device)
    labels = torch.randint(1, vocabulary, shape, device=device)
    return _training_step(model, lambda m: m(input_ids=tokens, labels=labels).loss)


# ---------------------------------------------------------------- vision and diffusion


class Attention(nn.Module):
    """Self-attention with fused projections."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, dim = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = F.scaled_dot_product_attention(q, k, v)
        return self.out(x.transpose(1, 2).reshape(batch, tokens, dim))


class VitBlock(nn.Module):
    """A block of a vision transformer: two norms, attention, a perceptron with GELU."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = Attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Vit(nn.Module):
    """A vision transformer over patches that are there already."""

    def __init__(self, dim: int, heads: int, depth: int, tokens: int) -> None:
        super().__init__()
        self.position = nn.Parameter(torch.zeros(1, tokens, dim))
        self.blocks = nn.ModuleList(VitBlock(dim, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 100)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


def _vit() -> tuple[nn.Module, Tensor, Tensor]:
    device = default_device()
    dim, tokens, batch = sized(512, 32), sized(196, 16), sized(32, 2)
    model = Vit(dim, 4 if TINY else 8, sized(8, 2), tokens).to(device).train()
    patches = torch.randn(batch, tokens, dim, device=device)
    return model, patches, torch.randint(0, 100, (batch,), device=device)


def vit_training() -> Step:
    """A vision transformer's training step; equal layers must get equal groups."""
    model, patches, target = _vit()
    return _training_step(model, lambda m: F.cross_entropy(m(patches), target))


def vit_regional(*, compiled: int = 1) -> Step:
    """The same step, each block compiled by the script (regional compilation), or not at all."""
    model, patches, target = _vit()
    if compiled:
        for block in model.blocks:
            block.compile()
    return _training_step(model, lambda m: F.cross_entropy(m(patches), target))


class DitBlock(nn.Module):
    """A diffusion transformer's block: the condition scales, shifts and gates both branches."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.norm_1 = nn.LayerNorm(dim, elementwise_affine=False)
        self.norm_2 = nn.LayerNorm(dim, elementwise_affine=False)
        self.attention = Attention(dim, heads)
        self.mlp = nn.Sequential(
            nn.Linear(dim, 4 * dim), nn.GELU(approximate="tanh"), nn.Linear(4 * dim, dim)
        )
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(dim, 6 * dim))

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        parts = self.modulation(condition)[:, None].chunk(6, dim=-1)
        shift_1, scale_1, gate_1, shift_2, scale_2, gate_2 = parts
        x = x + gate_1 * self.attention(self.norm_1(x) * (1 + scale_1) + shift_1)
        return x + gate_2 * self.mlp(self.norm_2(x) * (1 + scale_2) + shift_2)


class Dit(nn.Module):
    """Diffusion transformer over latents, with a sinusoidal time embedding and class labels."""

    def __init__(self, dim: int, heads: int, depth: int) -> None:
        super().__init__()
        self.dim = dim
        self.time = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.label = nn.Embedding(10, dim)
        self.blocks = nn.ModuleList(DitBlock(dim, heads) for _ in range(depth))
        self.out = nn.Linear(dim, dim)

    def forward(self, x: Tensor, time: Tensor, label: Tensor) -> Tensor:
        rate = torch.exp(torch.arange(self.dim // 2, device=x.device) * (-8.0 / self.dim))
        angle = time[:, None] * rate
        condition = self.time(torch.cat([angle.cos(), angle.sin()], -1)) + self.label(label)
        for block in self.blocks:
            x = block(x, condition)
        return self.out(x)


def dit_training() -> Step:
    """Denoising loss of a diffusion transformer."""
    device = default_device()
    dim, tokens, batch = sized(384, 32), sized(256, 16), sized(16, 2)
    model = Dit(dim, 4 if TINY else 6, sized(6, 2)).to(device).train()
    clean = torch.randn(batch, tokens, dim, device=device)
    noise = torch.randn_like(clean)
    time = torch.rand(batch, device=device) * 1000
    label = torch.randint(0, 10, (batch,), device=device)
    mix = (time / 1000)[:, None, None]
    return _training_step(
        model, lambda m: F.mse_loss(m(clean * (1 - mix) + noise * mix, time, label), noise)
    )


# ---------------------------------------------------------------- routing, graphs, one token


class Router(nn.Module):
    """The two best experts of each token, and how much each counts."""

    def __init__(self, dim: int, n_experts: int) -> None:
        super().__init__()
        self.score = nn.Linear(dim, n_experts, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights, experts = self.score(x).softmax(-1).topk(2)
        return weights / weights.sum(-1, keepdim=True), experts


class Expert(nn.Module):
    """A gated perceptron over the rows that are routed to it."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x)) * weight


class Experts(nn.Module):
    """A mixture of experts whose tokens are routed by their two best scores.

    How many tokens an expert gets depends on the data: a graph break, and in a loop it keeps
    Dynamo from the whole frame. So what is compiled are frames of their own: router and experts.
    """

    def __init__(self, dim: int, hidden: int, n_experts: int) -> None:
        super().__init__()
        self.router = Router(dim, n_experts)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(n_experts))

    def forward(self, x: Tensor) -> Tensor:
        weights, experts = self.router(x)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, choice = torch.where(experts == number)
            out = out.index_add(0, rows, expert(x[rows], weights[rows, choice, None]))
        return x + out


def moe() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Three layers of routed experts over a batch of tokens; the compiled frames are theirs."""
    dim, hidden = sized(512, 16), sized(1024, 32)
    layers = [Experts(dim, hidden, sized(8, 2)) for _ in range(sized(3, 2))]
    return nn.Sequential(*layers), (torch.randn(sized(2048, 16), dim),)


class GraphLayer(nn.Module):
    """A message-passing layer: gather at the sources, index_add at the targets."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.message, self.own, self.norm = (
            nn.Linear(dim, dim),
            nn.Linear(dim, dim),
            nn.LayerNorm(dim),
        )

    def forward(self, x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        messages = torch.relu(self.message(x))[source]
        summed = torch.zeros_like(x).index_add(0, target, messages)
        return torch.relu(self.norm(self.own(x) + summed))


class GraphNet(nn.Module):
    """Message passing with a classifier at each node."""

    def __init__(self, dim: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(GraphLayer(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 40)

    def forward(self, x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, source, target)
        return self.head(x)


def gnn_training() -> Step:
    """A graph network's training step: index_add forward, index_add and gather backward."""
    device = default_device()
    nodes, edges, dim = sized(20000, 40), sized(120000, 160), sized(128, 16)
    model = GraphNet(dim, sized(3, 2)).to(device).train()
    x = torch.randn(nodes, dim, device=device)
    source, target = torch.randint(0, nodes, (2, edges), device=device)
    label = torch.randint(0, 40, (nodes,), device=device)
    return _training_step(model, lambda m: F.cross_entropy(m(x, source, target), label))


class DecodeLayer(nn.Module):
    """One layer of a decoder that adds one token to a static cache of keys and values."""

    def __init__(self, dim: int, heads: int, groups: int, batch: int, length: int) -> None:
        super().__init__()
        self.heads, self.groups, self.width = heads, groups, dim // heads
        self.norm_1, self.norm_2 = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.query = nn.Linear(dim, dim, bias=False)
        self.key_value = nn.Linear(dim, 2 * groups * self.width, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.gate, self.up = (
            nn.Linear(dim, 3 * dim, bias=False),
            nn.Linear(dim, 3 * dim, bias=False),
        )
        self.down = nn.Linear(3 * dim, dim, bias=False)
        shape = (batch, groups, length, self.width)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, x: Tensor, position: Tensor, mask: Tensor) -> Tensor:
        batch = x.shape[0]
        normed = self.norm_1(x)
        query = self.query(normed).view(batch, 1, self.heads, self.width).transpose(1, 2)
        key, value = (
            self.key_value(normed).view(batch, 1, 2, self.groups, self.width).permute(2, 0, 3, 1, 4)
        )
        self.keys.index_copy_(2, position, key)
        self.values.index_copy_(2, position, value)
        attended = F.scaled_dot_product_attention(
            query, self.keys, self.values, attn_mask=mask, enable_gqa=True
        )
        x = x + self.out(attended.transpose(1, 2).reshape(batch, 1, -1))
        normed = self.norm_2(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Decode(nn.Module):
    """One token through all layers, at a fixed position of the cache."""

    def __init__(self, dim: int, heads: int, depth: int, batch: int, length: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sized(8000, 50), dim)
        self.layers = nn.ModuleList(
            DecodeLayer(dim, heads, heads // 4, batch, length) for _ in range(depth)
        )
        self.norm = nn.RMSNorm(dim)
        self.head = nn.Linear(dim, sized(8000, 50), bias=False)
        self.register_buffer("slots", torch.arange(length))

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        x = self.embedding(tokens)
        mask = (self.slots <= position)[None, None, None]
        for layer in self.layers:
            x = layer(x, position, mask)
        return self.head(self.norm(x))


def decode() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Decoding one token with a static cache and grouped queries."""
    batch, length = sized(8, 2), sized(1024, 16)
    model = Decode(sized(1024, 32), sized(16, 4), sized(6, 2), batch, length).eval()
    tokens = torch.randint(0, sized(8000, 50), (batch, 1))
    return model, (tokens, torch.tensor([length // 2]))


# ---------------------------------------------------------------- kernels that are not torch's


class Flex(nn.Module):
    """Attention with a score of the distance, written with flex_attention."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out, self.norm = (
            nn.Linear(dim, 3 * dim),
            nn.Linear(dim, dim),
            nn.LayerNorm(dim),
        )

    def forward(self, x: Tensor) -> Tensor:
        from torch.nn.attention.flex_attention import flex_attention

        batch, tokens, dim = x.shape
        qkv = self.qkv(self.norm(x)).view(batch, tokens, 3, self.heads, -1)
        q, k, v = (part.contiguous() for part in qkv.permute(2, 0, 3, 1, 4))

        def by_distance(
            score: Tensor, _b: Tensor, _h: Tensor, q_at: Tensor, k_at: Tensor
        ) -> Tensor:
            return score - 0.05 * (q_at - k_at).abs()

        attended = flex_attention(q, k, v, score_mod=by_distance)
        return x + self.out(attended.transpose(1, 2).reshape(batch, tokens, dim))


def flex() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Three layers of flex_attention."""
    dim = sized(512, 64)
    layers = [Flex(dim, sized(8, 2)) for _ in range(sized(3, 2))]
    return nn.Sequential(*layers).eval(), (torch.randn(sized(4, 1), sized(512, 128), dim),)


def own_triton_kernel() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A perceptron whose gate is a Triton kernel of the user's; needs a GPU."""
    from own_triton import GatedPerceptron

    dim = sized(1024, 64)
    layers = [GatedPerceptron(dim) for _ in range(3)]
    return nn.Sequential(*layers).eval(), (torch.randn(sized(4096, 64), dim),)


PAIRS = (
    *(llama, t5_training, vit_training, vit_regional, dit_training),
    *(moe, gnn_training, decode, flex, own_triton_kernel),
)
ROOT = Path(__file__).resolve().parents[1]
QUICK = ("--rounds", "6", "--no-memory", "--no-warm-compile", "--no-numerics")


def capture_pairs(folder: Path, names: tuple[str, ...]) -> None:
    """Capture each workload eager and compiled below `folder`, one folder each.

    By the capture alone, which needs msgspec and no polars: the machine with the GPU has none.
    """
    for name in names:
        variants = {"decode": "eager,default,reduce-overhead", "vit_regional": "eager"}
        argv = [f"{__file__}:{name}", "--variants", variants.get(name, "eager,default")]
        argv += ["--telemetry-seconds", "0", *QUICK, "--directory", str(ROOT)]
        if name != "vit_regional":
            _capture(argv, folder / name)
            continue
        for compiled in ("0", "1"):
            out = folder / (f"{name}_compiled" if compiled == "1" else name)
            _capture([*argv, "--option", f"compiled={compiled}"], out)


def _capture(argv: list[str], out: Path) -> None:
    from profiler_core.capture.launcher import run_capture
    from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace

    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    spec = spec_from_namespace(parser.parse_args(argv))
    finished = run_capture(spec, out)
    for run in finished.runs:
        print(f"{run.directory}: {run.status} {run.error or ''}", file=sys.stderr)


if __name__ == "__main__":
    capture_pairs(Path(sys.argv[1]), tuple(sys.argv[2:]) or tuple(pair.__name__ for pair in PAIRS))
