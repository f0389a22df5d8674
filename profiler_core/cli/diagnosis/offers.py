"""What a version of torch offers to a capture, and what is lost where it does not.

The facts are `child/abilities.py`'s; what the logs of a version cannot show is said in the words
of the reader of these logs.
"""

from typing import Any

from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.torch_settings import torch_logs
from profiler_core.cli.diagnosis.finding import Finding
from profiler_core.ingest.compile_log.visibility import missing, version_of
from profiler_core.model.compilation import SourceKind

# Names of TORCH_LOGS that a capture asks for, and what one that is missing would have told.
_TELLS = {
    "recompiles": "why code was compiled again",
    "graph_breaks": "where graphs break",
    "perf_hints": "hints about performance",
    "cudagraphs": "why CUDA graphs were left out",
    "dynamic": "which sizes are dynamic",
}


def offers(interpreter: Interpreter) -> list[Finding]:
    """What its torch offers; nothing for an interpreter that was not asked for it."""
    abilities: dict[str, Any] | None = interpreter.facts.get("abilities")
    if abilities is None:
        return []
    has_gpu = bool(interpreter.gpus)
    return [
        _compile(abilities, interpreter.facts),
        _trace(abilities, has_gpu),
        _text_logs(interpreter),
        _structured_log(abilities, interpreter),
        _sources(abilities),
        _warm(abilities),
        _memory(abilities, has_gpu),
        _ranks(abilities),
    ]


def _compile(abilities: dict[str, Any], facts: dict[str, Any]) -> Finding:
    why = abilities["compile_error"]
    if why is None:
        return Finding("torch.compile", "yes", f"works on Python {facts['python']}")
    return Finding(
        "torch.compile", "no", f"{why}: only eager and TorchScript can be captured",
        "Use this torch in an older Python, or a newer torch.",
    )  # fmt: skip


def _trace(abilities: dict[str, Any], has_gpu: bool) -> Finding:
    if not abilities["kineto"]:
        return Finding(
            "trace", "no", "this torch is built without Kineto: times and logs, and no kernels",
            "Install a build of torch with Kineto.",
        )  # fmt: skip
    if has_gpu and not abilities["cuda_trace"]:
        return Finding(
            "trace", "partly", "its profiler sees operators and no CUDA kernels",
            "Install a build of torch whose profiler is built with CUPTI.",
        )  # fmt: skip
    if not has_gpu and not abilities["cpu_kernel_names"]:
        return Finding(
            "trace", "partly", "Inductor's kernels for the CPU have no names in it",
            "Use torch 2.1 or newer.",
        )  # fmt: skip
    return Finding("trace", "yes", "operators, kernels, shapes and memory, by torch.profiler")


def _text_logs(interpreter: Interpreter) -> Finding:
    value = torch_logs(interpreter.log_names)
    newer = "Use a newer torch for what is missing."
    if value is None:
        detail = "this torch knows no name of TORCH_LOGS: neither graph breaks nor recompiles"
        return Finding("compile logs", "no", detail, newer)
    lost = [
        f"{name} is unknown to it ({tells})."
        for name, tells in _TELLS.items()
        if name not in interpreter.log_names
    ]
    lost += _invisible_parts("text", interpreter, left_out=("compilations", "compile_ids"))
    detail = f"TORCH_LOGS={value}"
    if not lost:
        return Finding("compile logs", "yes", detail)
    return Finding("compile logs", "partly", f"{detail}; {' '.join(lost)}", newer)


def _structured_log(abilities: dict[str, Any], interpreter: Interpreter) -> Finding:
    if not abilities["structured_log"]:
        return Finding(
            "structured log", "no",
            "this torch writes no TORCH_TRACE (2.3 is the first): compile seconds come from the "
            "first call, and the fusion ledger joins by names and positions",
            "Use torch 2.6 or newer, whose log has breaks, recompiles and compile seconds.",
        )  # fmt: skip
    lost = _invisible_parts("structured", interpreter)
    if not lost:
        return Finding("structured log", "yes", "TORCH_TRACE")
    return Finding(
        "structured log", "partly", f"TORCH_TRACE; {' '.join(lost)}", "Use torch 2.6 or newer."
    )


def _sources(abilities: dict[str, Any]) -> Finding:
    if abilities["provenance"]:
        return Finding("source lines of kernels", "yes", "by Inductor's provenance tracking")
    if not abilities["structured_log"]:
        return Finding(
            "source lines of kernels", "no", "they come from the structured log",
            "Use torch 2.8 or newer.",
        )  # fmt: skip
    return Finding(
        "source lines of kernels", "partly",
        "this torch has no provenance tracking (2.8 is the first): a kernel leads to its source "
        "line only where the comments of the generated code do",
        "Use torch 2.8 or newer.",
    )  # fmt: skip


def _warm(abilities: dict[str, Any]) -> Finding:
    if abilities["graph_cache"]:
        return Finding("warm compile time", "yes", "with Inductor's cache of compiled graphs")
    return Finding(
        "warm compile time", "partly",
        "this torch keeps compiled kernels and not graphs: a warm start compiles most of it again",
        "Use torch 2.4 or newer.",
    )  # fmt: skip


def _memory(abilities: dict[str, Any], has_gpu: bool) -> Finding:
    if not has_gpu:
        return Finding(
            "memory", "partly", "on the CPU: what the trace says, and no snapshot",
            "Use a machine with a GPU, and a torch that sees it, for a snapshot.",
        )  # fmt: skip
    if not abilities["memory_history"]:
        return Finding(
            "memory", "partly", "peaks, and no snapshot with Python's frames",
            "Use torch 2.1 or newer.",
        )  # fmt: skip
    return Finding("memory", "yes", "peaks, and a snapshot with Python's frames")


def _ranks(abilities: dict[str, Any]) -> Finding:
    if not abilities["distributed"]:
        return Finding(
            "several ranks", "no", "this torch is built without torch.distributed",
            "Install a build with torch.distributed.",
        )  # fmt: skip
    if not abilities["fully_shard"]:
        return Finding(
            "several ranks", "partly", "DDP, and no fully_shard (FSDP2)",
            "Use torch 2.4 or newer for the workload fsdp.",
        )  # fmt: skip
    return Finding("several ranks", "yes", "DDP and FSDP2")


def _invisible_parts(
    source: SourceKind, interpreter: Interpreter, left_out: tuple[str, ...] = ()
) -> list[str]:
    version = version_of(interpreter.facts["torch"])
    if version is None:
        return []
    rows = missing(source, version, version)
    return [row.sentence for row in rows if row.part not in left_out]
