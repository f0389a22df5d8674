"""A `compilation_metrics` record -> Compilation. Every key is optional: they come and go.

26 keys in 2.4, 99 in 2.15; times in seconds until 2.5, in µs since 2.6.
"""

import ast
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Literal

from profiler_core.ingest.windows_paths import with_slashes
from profiler_core.model.compilation import Compilation

SECONDS_KEYS = {
    "backend_compile_time_s": "backend_compile",
    "inductor_compile_time_s": "inductor",
    "code_gen_time_s": "inductor_code_gen",
    "dynamo_time_before_restart_s": "dynamo_before_restart",
}
MICROSECONDS_KEYS = {
    "dynamo_cumulative_compile_time_us": "dynamo",
    "aot_autograd_cumulative_compile_time_us": "aot_autograd",
    "inductor_cumulative_compile_time_us": "inductor",
    "inductor_code_gen_cumulative_compile_time_us": "inductor_code_gen",
    "backward_cumulative_compile_time_us": "backward",
    "triton_compile_time_us": "triton",
    "pre_grad_pass_time_us": "pre_grad_passes",
    "joint_graph_pass_time_us": "joint_graph_passes",
    "post_grad_pass_time_us": "post_grad_passes",
    "dynamo_compile_time_before_restart_us": "dynamo_before_restart",
    "compile_time_autotune_time_us": "autotune",
    "runtime_triton_autotune_time_us": "runtime_autotune",
    "runtime_cudagraphify_time_us": "cudagraph_recording",
    "gc_time_us": "gc",
    "structured_logging_overhead_us": "structured_logging",
}
LIMIT = re.compile(
    r"\b((?:accumulated_)?(?:recompile_limit|cache_size_limit))\b(?:.*?set to (\d{1,18})(?!\d))?",
    re.S,
)
LIMIT_ERRORS = frozenset(
    {"RecompileLimitExceeded", "FailOnRecompileLimitHit", "CacheLimitExceeded"}
)


def compilation(
    metrics: Mapping[str, Any],
    compile_id: str,
    direction: Literal["forward", "backward", "runtime"],
    rank: int | None,
) -> Compilation:
    """Read one record; what it does not hold, or holds in an unknown shape, is None."""
    return Compilation(
        compile_id=compile_id,
        direction=direction,
        function=_text(metrics.get("co_name")),
        file=with_slashes(_text(metrics.get("co_filename")) or "") or None,
        line=_int(metrics.get("co_firstlineno")),
        start_ns=_time_ns(metrics, "start_time_us", "start_time"),
        dur_ns=_time_ns(metrics, "duration_us", "entire_frame_compile_time_s"),
        phase_ns=_phases(metrics),
        guard_count=_int(metrics.get("guard_count")),
        graph_op_count=_int(metrics.get("graph_op_count")),
        graph_node_count=_int(metrics.get("graph_node_count")),
        restart_reasons=_reasons(metrics.get("restart_reasons")),
        fail_type=_class_name(metrics.get("fail_type")),
        fail_reason=_text(metrics.get("fail_reason")),
        has_guarded_code=_bool(metrics.get("has_guarded_code")),
        cudagraph_skip_reason=_text(metrics.get("cudagraph_skip_reason")),
        rank=rank,
    )


def limit_of(ended: Compilation) -> tuple[str | None, int | None] | None:
    """Name and value of the recompile limit that ended this attempt; None: no limit ended it."""
    reason = ended.fail_reason or ""
    if ended.fail_type not in LIMIT_ERRORS and not reason.startswith(
        "Dynamo recompile limit exceeded"
    ):
        return None
    match = LIMIT.search(reason)
    return (match[1], int(match[2]) if match[2] else None) if match else (None, None)


def _time_ns(metrics: Mapping[str, Any], in_us: str, in_s: str) -> int | None:
    for key, scale in ((in_us, 1000), (in_s, 1_000_000_000)):
        value = metrics.get(key)
        if isinstance(value, (int, float)) and math.isfinite(value):
            return round(value * scale)
    return None


def _phases(metrics: Mapping[str, Any]) -> dict[str, int]:
    phase_ns = {}
    for scale, keys in ((1e9, SECONDS_KEYS), (1e3, MICROSECONDS_KEYS)):
        for key, name in keys.items():
            value = metrics.get(key)
            if isinstance(value, (int, float)) and 0 < value < math.inf:
                phase_ns[name] = round(value * scale)
    return phase_ns


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _class_name(value: Any) -> str | None:
    """`<class 'torch._dynamo.exc.Unsupported'>` (until 2.6) and `Unsupported` are one."""
    text = _text(value)
    return text.removeprefix("<class '").removesuffix("'>").rpartition(".")[2] if text else None


def _listed(value: Any) -> list[Any]:
    """Lists are JSON in some versions and the text of a JSON or Python list in others."""
    if isinstance(value, str) and value.startswith(("[", "{")):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            try:
                value = ast.literal_eval(value)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return [value]
    return list(value) if isinstance(value, (list, tuple, set)) else []


def _reasons(value: Any) -> tuple[str, ...]:
    return tuple(str(reason).partition("\n")[0] for reason in _listed(value))


def _kernels(value: Any) -> tuple[tuple[str, int], ...]:
    return tuple(
        (str(entry[0]), int(entry[1]))
        for entry in _listed(value)
        if isinstance(entry, (list, tuple))
        and len(entry) == 2
        and isinstance(entry[1], (int, float))
    )
