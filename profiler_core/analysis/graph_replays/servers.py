"""Steps of inference servers, as their annotations tell them.

vLLM writes `execute_32_context_0(…)_generation_32(…)` around each step, with detailed annotations
the lengths of the sequences in brackets (vllm/v1/worker/gpu_model_runner.py); SGLang writes
`step[DECODE bs=32]` (sglang/srt/managers/scheduler_profiler_mixin.py, with its patches).
"""

import re
from dataclasses import dataclass
from typing import Literal

import polars as pl

from profiler_core.model.trace import Trace

Phase = Literal["prefill", "decode", "mixed"]

_VLLM = re.compile(
    r"^execute_(?P<tokens>\d+)_context_(?P<prefills>\d+)(?:\([^)]*\))?"
    r"_generation_(?P<decodes>\d+)"
)
_SGLANG = re.compile(r"^step\[(?P<mode>[A-Z_]+) bs=(?P<requests>\d+)(?: toks=(?P<tokens>\d+))?")
_PHASES: dict[str, Phase] = {"DECODE": "decode", "EXTEND": "prefill", "MIXED": "mixed"}


@dataclass(frozen=True, slots=True)
class ServerStep:
    """One step of a server, on the host's clock, ns."""

    server: Literal["vLLM", "SGLang"]
    phase: Phase
    ts_ns: int
    end_ns: int
    n_tokens: int | None  # that the step computes, padding included where the server says so
    n_requests: int | None


def server_steps(trace: Trace) -> list[ServerStep]:
    """The steps that a server's annotations tell, in order of time; [] in any other trace.

    SGLang may write vLLM's form around its own: then its own count.
    """
    names = trace.annotations["name"].cast(pl.String)
    for read, form in ((_sglang, "^step\\["), (_vllm, "^execute_")):
        ranges = trace.annotations.filter(names.str.contains(form)).select(
            pl.col("name").cast(pl.String), "ts_ns", end_ns=pl.col("ts_ns") + pl.col("dur_ns")
        )
        steps = [step for row in ranges.iter_rows() if (step := read(*row)) is not None]
        if steps:
            return steps
    return []


def server_of(trace: Trace) -> str | None:
    """The server that wrote a trace, by its steps; None: it has none of a server."""
    return next((step.server for step in server_steps(trace)), None)


def _vllm(name: str, ts_ns: int, end_ns: int) -> ServerStep | None:
    said = _VLLM.match(name)
    if said is None:
        return None
    prefills, decodes = int(said["prefills"]), int(said["decodes"])
    phase: Phase = "decode" if not prefills else "mixed" if decodes else "prefill"
    return ServerStep("vLLM", phase, ts_ns, end_ns, int(said["tokens"]), prefills + decodes)


def _sglang(name: str, ts_ns: int, end_ns: int) -> ServerStep | None:
    said = _SGLANG.match(name)
    if said is None or said["mode"] not in _PHASES:
        return None
    requests = int(said["requests"])
    phase = _PHASES[said["mode"]]
    tokens = int(said["tokens"]) if said["tokens"] else requests if phase == "decode" else None
    return ServerStep("SGLang", phase, ts_ns, end_ns, tokens, requests)
