"""Decode with a cache that a compiled call allocates, under CUDA graphs: who crashes, and where?

    python -m benchmarks.graph_crash OUT [--seconds 100]

A process per variant, all at the same time, each with faulthandler; plain torch but for the last
ones, which are captures. `OUT/NAME.txt` has what it printed, and the table its exit status, how
far it came and whether its tokens are those of eager.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LLAMA = Path(__file__).resolve().parents[1] / "docs" / "examples" / "llama_generate.py"
_PROMPT, _NEW, _BATCH = 16, 8, 2


@dataclass(frozen=True)
class Variant:
    """A way to decode."""

    model: str = "llama"  # or "small": torch alone
    mode: str = "reduce-overhead"
    marks: bool = True  # torch.compiler.cudagraph_mark_step_begin() before prompt and steps
    marks_once: bool = False  # before the prompt alone
    allocates_early: bool = False  # the cache, outside of what is compiled
    compiles_prompt: bool = True
    trees: bool = True
    partitions: bool = True
    environment: tuple[tuple[str, str], ...] = ()


VARIANTS = {
    "as the product": Variant(),
    "marked once": Variant(marks_once=True),
    "never marked": Variant(marks=False),
    "cache allocated early": Variant(allocates_early=True),
    "cache allocated early, never marked": Variant(allocates_early=True, marks=False),
    "prompt not compiled": Variant(compiles_prompt=False),
    "without trees": Variant(trees=False),
    "without partitions": Variant(partitions=False),
    "default": Variant(mode="default"),
    "launches block": Variant(environment=(("CUDA_LAUNCH_BLOCKING", "1"),)),
    "torch alone": Variant(model="small"),
    "torch alone, never marked": Variant(model="small", marks=False),
    "torch alone, allocated early": Variant(model="small", allocates_early=True),
    "torch alone, without trees": Variant(model="small", trees=False),
}
_CAPTURES = {"a capture": "early=0", "a capture, cache allocated early": "early=1"}


# -- one variant ----------------------------------------------------------------------------------


def _decode(variant: Variant, device: str) -> None:
    import torch

    torch._inductor.config.triton.cudagraph_trees = variant.trees
    if hasattr(torch._inductor.config, "graph_partition"):
        torch._inductor.config.graph_partition = variant.partitions
    make = _llama if variant.model == "llama" else _small
    torch.manual_seed(0)
    expected = _tokens(*make(device, True), device, Variant(marks=False), "eager")
    torch.manual_seed(0)
    model, forward, reset = make(device, variant.allocates_early)
    model._compiled_call_impl = torch.compile(model._call_impl, mode=variant.mode)
    tokens = _tokens(model, forward, reset, device, variant, "compiled")
    print("compiled: tokens as eager:", tokens == expected, tokens, expected, flush=True)


def _tokens(
    model: Any,
    forward: Callable[[Any], Any],
    reset: Callable[[], None],
    device: str,
    variant: Variant,
    label: str,
) -> list[list[int]]:
    """Of two sequences; what was reached is printed."""
    import torch

    prompts = torch.randint(3, 100, (_BATCH, _PROMPT), generator=torch.Generator().manual_seed(1))
    chosen: list[list[int]] = []
    mark = torch.compiler.cudagraph_mark_step_begin if variant.marks else lambda: None
    with torch.no_grad():
        for sequence in range(2):
            mark()
            reset()
            compiled = getattr(model, "_compiled_call_impl", None)
            if not variant.compiles_prompt:
                model._compiled_call_impl = None
            token = forward(prompts.to(device))
            model._compiled_call_impl = compiled
            print(f"{label}: sequence {sequence}, prompt", flush=True)
            for step in range(_NEW - 1):
                if not variant.marks_once:
                    mark()
                token = forward(token.clone())
                if device == "cuda":
                    torch.cuda.synchronize()
                print(f"{label}: sequence {sequence}, step {step}", flush=True)
            chosen.append(token.flatten().tolist())
    return chosen


def _llama(device: str, early: bool) -> tuple[Any, Callable[[Any], Any], Callable[[], None]]:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

    config = LlamaConfig(
        hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=128, max_position_embeddings=2048,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval().to(device)
    state: dict[str, Any] = {}

    def reset() -> None:
        if "cache" in state:
            state["cache"].reset()
        else:
            cache = StaticCache(config=config, max_cache_len=_PROMPT + _NEW)
            if early:
                cache.early_initialization(_BATCH, 2, 16, torch.float32, torch.device(device))
            state["cache"] = cache
        state["position"] = torch.arange(_PROMPT, device=device)

    def forward(ids: Any) -> Any:
        logits = model(
            ids,
            past_key_values=state["cache"],
            position_ids=state["position"][None],
            use_cache=True,
        ).logits
        state["position"] = state["position"][-1:] + 1
        return logits[:, -1:].argmax(-1)

    return model, forward, reset


def _small(device: str, early: bool) -> tuple[Any, Callable[[Any], Any], Callable[[], None]]:
    import torch
    from torch import nn

    class Small(nn.Module):
        """Adds to a cache, and answers by all that lies in it."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.head = nn.Embedding(128, 64), nn.Linear(64, 128)

        def forward(self, ids: Any, state: dict[str, Any]) -> Any:
            """ids: (batch, n)."""
            if "cache" not in state:
                state["cache"] = torch.zeros(_BATCH, _PROMPT + _NEW, 64, device=ids.device)
                state["length"] = torch.tensor(0, device=ids.device)
            at = torch.arange(ids.shape[1], device=ids.device) + state["length"]
            state["length"].add_(ids.shape[1])
            state["cache"].index_copy_(1, at, self.embedding(ids))
            return self.head(state["cache"].cumsum(1)[:, -1:])

    model = Small().eval().to(device)
    state: dict[str, Any] = {}

    def reset() -> None:
        if state:
            state["cache"].zero_()
            state["length"].zero_()
        elif early:
            state["cache"] = torch.zeros(_BATCH, _PROMPT + _NEW, 64, device=device)
            state["length"] = torch.tensor(0, device=device)
            for tensor in state.values():
                torch._dynamo.mark_static_address(tensor)

    return model, lambda ids: model(ids, state).argmax(-1), reset


# -- all of them ----------------------------------------------------------------------------------


def _start(name: str, out: Path, device: str) -> "subprocess.Popen[bytes]":
    python = [sys.executable, "-X", "faulthandler", "-m"]
    if name in VARIANTS:
        command = [*python, "benchmarks.graph_crash", str(out), "--only", name]
        command += ["--device", device]
        own = dict(VARIANTS[name].environment)
    else:
        command = [
            *python, "profiler_core", "capture", f"{_LLAMA}:build_steps", "--option",
            _CAPTURES[name], "--device", device, "--variants", "eager,reduce-overhead",
            "--rounds=5", "--round-steps=5", "--round-seconds=0.05", "--telemetry-seconds=0",
            "--no-memory", "--no-warm-compile", "--out", str(out / f"{name}.runs"),
        ]  # fmt: skip
        own = {"FUSIONSCOPE_HOME": str(out / f"{name}.home")}
    environment = {
        **os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1",
        "PYTHONFAULTHANDLER": "1", "TORCH_LOGS": "cudagraphs", **own,
    }  # fmt: skip
    with (out / f"{name}.txt").open("wb") as log:
        return subprocess.Popen(
            command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )


def main() -> None:
    """Run all variants, or one of them in this process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=100.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--names", nargs="*", default=[*_CAPTURES, *VARIANTS])
    parser.add_argument("--only", choices=list(VARIANTS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        _decode(VARIANTS[arguments.only], arguments.device)
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    running = {name: _start(name, arguments.out, arguments.device) for name in arguments.names}
    while running:
        for name, process in list(running.items()):
            is_late = time.monotonic() - began > arguments.seconds
            if is_late and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.poll() is not None:
                del running[name]
                lines = (arguments.out / f"{name}.txt").read_text(errors="replace").splitlines()
                reached = [line for line in lines if line.startswith(("eager: ", "compiled: "))]
                status = "late" if is_late else process.returncode
                print(
                    f"{time.monotonic() - began:5.1f} s  {name}: status {status}, "
                    f"{(reached or lines or ['nothing printed'])[-1]}",
                    flush=True,
                )
        time.sleep(0.2)


if __name__ == "__main__":
    main()
