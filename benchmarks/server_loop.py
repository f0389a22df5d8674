"""A decode server in small: static KV cache, three batch sizes, CUDA graphs recorded by hand.

    python -m benchmarks.server_loop OUT [--parts traces,eager,graphs,cost] [--device cuda]

traces: `OUT/eager/trace.json.gz`, with Python calls, and `OUT/replay/`, the same steps replayed
beside the traces that were written while the graphs were captured, as servers write them: what
`replay_judge --pair OUT` judges. eager, graphs: recordings of the loop with the `Recorder`.
cost: whether steps are slower once graphs were captured under the profiler (`OUT/cost.json`).
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, everybody writes it so
from torch.profiler import ProfilerActivity, profile, record_function

BUCKETS = (1, 4, 16)
REQUESTS = (1, 3, 4, 9, 16, 2, 12, 1, 4, 16, 7, 1)  # of each traced step, padded to a bucket
_LENGTH = 256  # of the cache


class Attention(nn.Module):
    """Of one token to a cache that all batch sizes share."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.n_heads = n_heads
        shape = (max(BUCKETS), n_heads, _LENGTH, width // n_heads)
        self.register_buffer("keys", torch.zeros(shape), persistent=False)
        self.register_buffer("values", torch.zeros(shape), persistent=False)

    def forward(self, x: Tensor, position: Tensor, mask: Tensor) -> Tensor:
        """x: (batch, 1, width)."""
        batch, _, width = x.shape
        shape = (batch, 1, 3, self.n_heads, width // self.n_heads)
        query, key, value = self.qkv(x).view(shape).permute(2, 0, 3, 1, 4)
        keys, values = self.keys[:batch], self.values[:batch]
        keys.index_copy_(2, position, key)
        values.index_copy_(2, position, value)
        seen = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        return self.out(seen.transpose(1, 2).reshape(batch, 1, width))


class FeedForward(nn.Module):
    """Gated, as LLaMA has it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """x: (batch, 1, width)."""
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    """Attention and feed-forward, each behind its norm."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.attention_norm, self.norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention, self.feed_forward = Attention(width, n_heads), FeedForward(width)

    def forward(self, x: Tensor, position: Tensor, mask: Tensor) -> Tensor:
        """x: (batch, 1, width)."""
        x = x + self.attention(self.attention_norm(x), position, mask)
        return x + self.feed_forward(self.norm(x))


class Decoder(nn.Module):
    """The most likely next token of each sequence."""

    def __init__(self, width: int, n_heads: int, n_layers: int, n_tokens: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(n_tokens, width)
        self.layers = nn.ModuleList(Layer(width, n_heads) for _ in range(n_layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, n_tokens, bias=False)

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        """tokens: (batch,)."""
        mask = (torch.arange(_LENGTH, device=tokens.device) <= position)[None, None, None]
        x = self.embed(tokens)[:, None]
        for layer in self.layers:
            x = layer(x, position, mask)
        return self.head(self.norm(x))[:, 0].argmax(-1)


class Server:
    """Steps over whatever requests are there, eager or by graphs."""

    def __init__(self, device: str, size: str) -> None:
        torch.manual_seed(0)
        width, n_heads, n_layers, n_tokens = {
            "tiny": (32, 2, 2, 64), "small": (1024, 16, 8, 8000),
        }[size]  # fmt: skip
        dtype = torch.float32 if device == "cpu" else torch.bfloat16
        self.model = Decoder(width, n_heads, n_layers, n_tokens).to(device, dtype).eval()
        self.tokens = {size: torch.ones(size, dtype=torch.long, device=device) for size in BUCKETS}
        self.position = torch.zeros(1, dtype=torch.long, device=device)
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}

    def capture(self, beside: Callable[[int], AbstractContextManager[object]]) -> None:
        """Record a graph for each batch size, within what `beside` gives for it."""
        pool = None
        for size in reversed(BUCKETS):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    self._run(size)
            torch.cuda.current_stream().wait_stream(side)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with beside(size), record_function(f"capture_{size}_FULL"):  # noqa: SIM117
                with torch.cuda.graph(graph, pool=pool):
                    self._run(size)
            pool = graph.pool()
            self._graphs[size] = graph

    def step(self, n_requests: int) -> list[int]:
        """One token for each request; the annotation is vLLM's."""
        size = next(bucket for bucket in BUCKETS if bucket >= n_requests)
        name = f"execute_{size}_context_0(sq0sk0)_generation_{n_requests}(sq{n_requests}sk99)"
        with record_function(name):
            graph = self._graphs.get(size)
            if graph is None:
                self._run(size)
            else:
                graph.replay()
            return self.tokens[size][:n_requests].tolist()

    def _run(self, size: int) -> None:
        with torch.no_grad():
            tokens = self.tokens[size]
            tokens.copy_(self.model(tokens, self.position))
            self.position.add_(1).remainder_(_LENGTH)


def write_traces(server: Server, out: Path, device: str) -> None:
    """The steps eager and, on a GPU, replayed."""
    for n_requests in REQUESTS:
        server.step(n_requests)
    with _profiled(out / "eager" / "trace.json.gz", device, stacks=True):
        for n_requests in REQUESTS:
            server.step(n_requests)
    if device == "cpu":
        return
    captures = out / "replay" / "capture_traces"
    server.capture(
        lambda size: _profiled(captures / f"bs_{size}_rank0.json.gz", device, stacks=True)
    )
    for n_requests in REQUESTS:
        server.step(n_requests)
    with _profiled(out / "replay" / "trace.json.gz", device, stacks=False):
        for n_requests in REQUESTS:
            server.step(n_requests)


class _profiled:  # noqa: N801, used as a function
    """The profiler around a block; its trace goes to `path`."""

    def __init__(self, path: Path, device: str, stacks: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        activities = [ProfilerActivity.CPU]
        if device != "cpu":
            activities.append(ProfilerActivity.CUDA)
        self._profile = profile(activities=activities, record_shapes=stacks, with_stack=stacks)

    def __enter__(self) -> None:
        self._profile.__enter__()

    def __exit__(self, *error: object) -> None:
        self._profile.__exit__(None, None, None)
        self._profile.export_chrome_trace(str(self._path))


def record(server: Server, out: Path, variant: str) -> None:
    """The loop with the Recorder, which is there when the graphs are captured."""
    from profiler_core.record import Recorder

    recorder = Recorder(
        out, workload="server-loop", variant=variant, training=False, stacks=True,
        telemetry_seconds=0, steps=3, graphs=True,
    )  # fmt: skip
    if variant == "graphs":
        server.capture(lambda _: nullcontext())
    with recorder:
        while not recorder.is_done:
            for n_requests in REQUESTS:
                server.step(n_requests)
            recorder.step()


def profiling_cost(server: Server) -> dict[str, list[float]]:
    """Milliseconds per step, of rounds before and after graphs were captured under the profiler."""
    times: dict[str, list[float]] = {}

    def rounds(name: str) -> None:
        times[name] = [_timed(server) for _ in range(12)]

    rounds("eager, never profiled")
    server.capture(lambda _: nullcontext())
    rounds("replayed, never profiled")
    rounds("replayed, never profiled, again")
    path = Path("/dev/null")
    server.capture(lambda _: _profiled(path, "cuda", stacks=True))
    rounds("replayed, captured under the profiler")
    server.capture(lambda _: nullcontext())
    rounds("replayed, captured after the profiler")
    server._graphs.clear()
    rounds("eager, after the profiler")
    return times


def _timed(server: Server) -> float:
    n = 10
    torch.cuda.synchronize()
    before = time.perf_counter()
    for _ in range(n):
        for n_requests in REQUESTS:
            server.step(n_requests)
    torch.cuda.synchronize()
    return (time.perf_counter() - before) * 1e3 / (n * len(REQUESTS))


def main() -> None:
    """Make each part; print the medians of the cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("out", type=Path)
    parser.add_argument("--parts", default="traces,eager,graphs,cost")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--size", default="small", choices=("tiny", "small"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for part in arguments.parts.split(","):
        server = Server(arguments.device, arguments.size)
        if part == "traces":
            write_traces(server, arguments.out, arguments.device)
        elif part == "cost":
            times = profiling_cost(server)
            (arguments.out / "cost.json").write_text(json.dumps(times))
            for name, rounds in times.items():
                print(f"{statistics.median(rounds):.4f} ms  {name}", flush=True)
        else:
            record(server, arguments.out / "recorded", part)
        print(part, "done", flush=True)


if __name__ == "__main__":
    main()
