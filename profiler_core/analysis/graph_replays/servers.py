"""Steps of inference servers, as their annotations tell them.

vLLM writes `execute_context_0(0)_generation_32(32)` around each step; with detailed annotations the
padded number of tokens comes first and the lengths of the sequences stand in brackets
(`execute_32_context_0(sq0sk0…)_generation_30(sq30sk55086…)`, vllm/v1/worker/gpu_model_runner.py).
SGLang writes `step[DECODE bs=32]`, ATOM `decode[bs=117/128 tok=117 d=117]`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from profiler_core.analysis.per_name import per_name
from profiler_core.model.trace import Trace

Phase = Literal["prefill", "decode", "mixed"]
Server = Literal["vLLM", "SGLang", "ATOM"]

_LENGTHS = r"\((?:sq)?(?P<{name}>\d{{1,18}})[^)]*\)"
_VLLM = re.compile(
    r"^execute_(?:(?P<padded>\d{1,18})_)?context_(?P<prefills>\d{1,18})(?:"
    + _LENGTHS.format(name="prefill_tokens")
    + r")?_generation_(?P<decodes>\d{1,18})(?:"
    + _LENGTHS.format(name="decode_tokens")
    + r")?"
)
_SGLANG = re.compile(
    r"^step\[(?P<mode>DECODE|EXTEND|MIXED) bs=(?P<requests>\d{1,18})(?!\d)(?P<rest>[^\]]*)"
)
_SGLANG_TOKENS = re.compile(r"\b(toks|[cg]_sq)=(\d{1,18})(?!\d)")
_SGLANG_PHASES: dict[str, Phase] = {"DECODE": "decode", "EXTEND": "prefill", "MIXED": "mixed"}
_ATOM = re.compile(
    r"^(?P<phase>prefill|decode)\[bs=(?P<requests>\d{1,18})(?!\d)(?:/(?P<padded>\d{1,18}))?"
    r" tok=(?P<tokens>\d{1,18})(?!\d)(?P<rest>[^\]]*)"
)


@dataclass(frozen=True, slots=True)
class ServerStep:
    """One step of a server, on the host's clock, ns. None: its annotation does not say it."""

    server: Server
    phase: Phase
    ts_ns: int
    end_ns: int
    batch: int | None  # what it computes: tokens, of a decoding SGLang or ATOM requests; padded
    n_tokens: int | None  # that requests asked for
    n_requests: int | None
    is_padded: bool  # batch is what the graph computes, and not what was asked for


def server_steps(trace: Trace) -> list[ServerStep]:
    """The steps that a server's annotations tell, in order of time; [] in any other trace.

    SGLang may write vLLM's form around its own: then its own count.
    """
    is_step = per_name(
        trace.annotations["name"],
        lambda name: any(form.search(name) for _, form in _READERS),
        pl.Boolean,
    )
    ranges = trace.annotations.filter(is_step).select(
        pl.col("name").cast(pl.String), "ts_ns", end_ns=pl.col("ts_ns") + pl.col("dur_ns")
    )
    for read, form in _READERS:
        steps = [
            step
            for row in ranges.iter_rows()
            if form.search(row[0]) and (step := read(*row)) is not None
        ]
        if steps:
            return steps
    return []


def server_of(trace: Trace) -> Server | None:
    """The server that wrote a trace, by its steps; None: it has none of a server."""
    return next((step.server for step in server_steps(trace)), None)


def _vllm(name: str, ts_ns: int, end_ns: int) -> ServerStep | None:
    annotation = _VLLM.match(name)
    if annotation is None:
        return None
    prefills, decodes = int(annotation["prefills"]), int(annotation["decodes"])
    phase: Phase = "decode" if not prefills else "mixed" if decodes else "prefill"
    asked = [annotation["prefill_tokens"], annotation["decode_tokens"]]
    tokens = sum(map(int, asked)) if None not in asked else None
    padded = annotation["padded"]
    batch = int(padded) if padded else tokens
    return ServerStep(
        "vLLM", phase, ts_ns, end_ns, batch, tokens, prefills + decodes, padded is not None
    )


def _sglang(name: str, ts_ns: int, end_ns: int) -> ServerStep | None:
    annotation = _SGLANG.match(name)
    if annotation is None:
        return None
    requests = int(annotation["requests"])
    phase = _SGLANG_PHASES[annotation["mode"]]
    counts = {key: int(n) for key, n in _SGLANG_TOKENS.findall(annotation["rest"])}
    tokens = counts.pop("toks", None) or sum(counts.values()) or None  # the whole, or its parts
    if tokens is None and phase == "decode":
        tokens = requests
    batch = requests if phase == "decode" else tokens
    return ServerStep("SGLang", phase, ts_ns, end_ns, batch, tokens, requests, False)


def _atom(name: str, ts_ns: int, end_ns: int) -> ServerStep | None:
    annotation = _ATOM.match(name)
    if annotation is None:
        return None
    is_mixed = (
        re.search(r"\bp=[1-9]", annotation["rest"]) is not None and " d=" in annotation["rest"]
    )
    phase: Phase = (
        "mixed" if is_mixed else "decode" if annotation["phase"] == "decode" else "prefill"
    )
    requests, tokens = int(annotation["requests"]), int(annotation["tokens"])
    padded = annotation["padded"]
    batch = int(padded) if padded else requests if phase == "decode" else tokens
    return ServerStep("ATOM", phase, ts_ns, end_ns, batch, tokens, requests, padded is not None)


_Read = Callable[[str, int, int], ServerStep | None]
_READERS: tuple[tuple[_Read, re.Pattern[str]], ...] = (
    (_sglang, re.compile(r"^step\[")),
    (_atom, re.compile(r"^(?:prefill|decode)\[bs=")),
    (_vllm, re.compile(r"^execute_(?:\d+_)?context_")),
)
