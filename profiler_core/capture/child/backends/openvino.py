"""OpenVINO. Tried on 2026-11-21: openvino 2026.4.1 with torch 2.15.0.

It falls back silently: it catches every exception and hands the graph to Inductor
(openvino/frontend/pytorch/torchdynamo/backend.py, 2026.4). So what ran is counted. It reads the
options declared here and no others, and says nothing of a misspelt one
(frontend/pytorch/torchdynamo/backend_utils.py).
"""

from __future__ import annotations

import functools
import importlib
import logging
from typing import Any, Dict, List, Optional

from .. import engine_calls
from ..backend import Backend, Documented, Option, Package
from ..engine_calls import RAN

_PRECISION = "INFERENCE_PRECISION_HINT"


class _OpenVino(Backend):
    def set_up(self, name: str, original: Any) -> Any:
        """Count each call of its engine."""
        _watch(name)
        return engine_calls.ranged(name, original)

    def rounding(self, precision: str) -> List[str]:
        """bf16 by default on a CPU with AMX."""
        computed = (RAN.precision or "").lower()
        if precision != "fp32" or computed in ("", "f32", "dynamic"):
            return []
        return [
            "openvino computed in {} by itself: openvino+config.{}=f32 keeps fp32".format(
                computed, _PRECISION
            )
        ]

    def remedy(self, training: bool) -> Optional[str]:
        """2026.4: "ConvolutionBackward0 returned an invalid gradient" from its decompositions."""
        return "Leave --training out: openvino supports inference only." if training else None


BACKEND = _OpenVino(
    name="openvino",
    package=Package("openvino.torch", "openvino", "openvino"),
    options=(
        Option("device", "the plugin that runs it", "CPU"),
        Option("config.", "a property of the plugin", "f32", "table"),
        Option("model_caching", "keep compiled models on disk", "true", "switch"),
        Option("cache_dir", "where they are kept", "path/to/cache"),
        Option("aot_autograd", "trace through AOTAutograd", "true", "switch"),
        Option("disabled_ops", "operators left to PyTorch", "aten.relu.default", "list"),
        Option("testing", "keep going where an operator is not supported", "true", "switch"),
    ),
    takes="declared",
    # Without AOTAutograd it traces the graph a second time in Dynamo's own context; torch 2.15 then
    # guards on names that are not there ("name 'input1' is not defined") and fails.
    defaults={"aot_autograd": True},
    example="config.{}=f32".format(_PRECISION),
    draws_otherwise=True,
    documented=Documented(
        needs="`pip install openvino`",
        tried="openvino 2026.4.1, torch 2.15.0",
        measured="step time, first call cold and warm, answers, graph breaks and recompiles, each "
        "call of its engine, what it replaced",
        not_measured="what happens inside a call: time by operator, fusion, bytes; its memory",
    ),
)


@functools.lru_cache(maxsize=None)  # once a process
def _watch(name: str) -> None:
    """Each run of a partition is an operator; what falls back to PyTorch or Inductor is counted."""
    RAN.counts = True
    folder = "openvino.frontend.pytorch.torchdynamo."
    execute: Any = importlib.import_module(folder + "execute")
    backend: Any = importlib.import_module(folder + "backend")
    infer, cached = execute.openvino_execute, backend.execute_cached

    @functools.wraps(infer)
    def run(*arguments: Any, **keywords: Any) -> Any:
        with engine_calls.operator(name):
            try:
                answer = infer(*arguments, **keywords)
            except Exception as error:
                RAN.fell_back(_line(error))
                raise  # openvino runs this partition with PyTorch from now on
        RAN.n_calls += 1
        if RAN.precision is None:
            RAN.precision = _precision_of(execute.compiled_cache)
        return answer

    @functools.wraps(cached)
    def run_cached(compiled: Any, *arguments: Any) -> Any:
        with engine_calls.operator(name):
            answer = cached(compiled, *arguments)
        RAN.n_calls += 1
        if RAN.precision is None:
            RAN.precision = _precision_of({0: compiled})
        return answer

    execute.openvino_execute = run
    backend.execute_cached = run_cached
    logger = backend.logger
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(_Reasons())


class _Reasons(logging.Handler):
    """Records "Failed in OpenVINO execution: …", the only sign of a fallback to Inductor."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "Failed in OpenVINO" in text:
            RAN.fell_back(_in_one_line(text.partition(":")[2]) or "an assertion in its frontend")


def _precision_of(compiled: Dict[Any, Any]) -> str:
    """What the plugin computes in."""
    for model in compiled.values():
        try:
            precision = str(model.get_property(_PRECISION).to_string())
        except (AttributeError, RuntimeError):  # another plugin has no such property
            continue
        return precision
    return ""


def _line(error: BaseException) -> str:
    return _in_one_line(str(error)) or type(error).__name__


def _in_one_line(text: str) -> str:
    """An error's first line; where OpenVINO ends with a summary that names operators, that."""
    summary = text.partition("\nSummary:")[2].strip()
    if summary:
        return "; ".join(line.strip().lstrip("- ") for line in summary.splitlines())
    return (text.strip().splitlines() or [""])[0]
