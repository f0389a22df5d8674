"""What differs between two runs beside what was meant to differ."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from profiler_core.analysis.device import Device
from profiler_core.model.run import RunRecord


@dataclass(frozen=True)
class Difference:
    """One property that the two runs do not share; None: the run does not have it."""

    key: str  # "torch", "gpu", "variables.CUDA_VISIBLE_DEVICES", "spec.batch_size"
    baseline: Any
    candidate: Any

    @property
    def spec_option(self) -> str | None:
        """The option of the capture that it is about; None: it is about something else."""
        prefix, _, option = self.key.partition("spec.")
        return option if not prefix and option else None


# Parts of the request that make it another question when they differ; the others (mode,
# backend, precision …) are what a comparison is about.
QUESTION_KEYS = ("training", "batch_size", "shapes", "options")
_SPEC_KEYS = (*QUESTION_KEYS, "seed")  # a trend goes on where only the seed differs

# The parts of it that make another workload: not a faster or slower one, another one.
_WORKLOAD_KEYS = (
    "workload",
    "spec.training",
    "spec.batch_size",
    "spec.shapes",
    "tokens_per_step",
    "batches_per_step",
)

# Set by a capture for itself, different in every child, or a reading of the moment.
_VARIABLES_OF_THE_CAPTURE = (
    "TORCH_LOGS",
    "TORCH_TRACE",
    "INDUCTOR_PROVENANCE",
    "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE",
    "FUSIONSCOPE_RECORDING",
    "torch_logs",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
)
# Where processes meet and what they are called: another one in each start of the same job.
_VARIABLES_OF_THE_START = re.compile(
    r"(TORCHELASTIC_(ERROR_FILE|RUN_ID|RESTART_COUNT|USE_AGENT_STORE|MAX_RESTARTS)|MASTER_PORT"
    r"|MASTER_ADDR|SLURM_(JOB|STEP|TASK|PROC|SUBMIT|LAUNCH|GTIDS|NODEID).*|OMPI_.*|PMI\w*"
    r"|.*_(PID|PPID|SOCKET|TMPDIR)|TMPDIR|TEMP|TMP)$"
)
_READINGS = ("_clock_mhz", "temperature_c", "power_w", "_used_bytes", "_free_bytes", "_at")

# Follow from the variant's precision, which is named in the spec.
_FOLLOWS_PRECISION = ("float32_matmul_precision", "cudnn_allow_tf32")


def differences(
    baseline: RunRecord,
    candidate: RunRecord,
    devices: tuple[Device | None, Device | None] = (None, None),
) -> tuple[Difference, ...]:
    """Environment and workload keys that are known on both sides and differ, by name.

    Args:
        baseline: its `environment` and `spec`.
        candidate: the same.
        devices: what the traces say; used where run.json names no GPU.
    """
    baseline_facts, candidate_facts = (
        _facts(r, d) for r, d in zip((baseline, candidate), devices, strict=True)
    )
    same_precision = baseline.spec.get("precision") == candidate.spec.get("precision")
    return tuple(
        Difference(key, baseline_facts[key], candidate_facts[key])
        for key in sorted(baseline_facts.keys() & candidate_facts.keys())
        if baseline_facts[key] != candidate_facts[key]
        and (same_precision or not key.endswith(_FOLLOWS_PRECISION))
    )


def is_another_workload(differing: Iterable[Difference]) -> bool:
    """Do these differences make the two runs different workloads?"""
    return bool(of_workload(differing))


def of_workload(differing: Iterable[Difference]) -> tuple[Difference, ...]:
    """Those that do, another model before all else."""
    making = (
        d
        for d in differing
        if d.key in _WORKLOAD_KEYS and not _is_default(d.baseline) and not _is_default(d.candidate)
    )
    return tuple(sorted(making, key=lambda d: _WORKLOAD_KEYS.index(d.key)))


def is_another_model(differing: Iterable[Difference]) -> bool:
    """Do both name a model, and not the same? Two functions of one's own may build the same."""
    return any(
        d.key == "workload" and not any(".py:" in str(side) for side in (d.baseline, d.candidate))
        for d in differing
    )


def _is_default(value: Any) -> bool:
    """Left to the workload: it may be the same as what the other run names."""
    return value is None or (not value and isinstance(value, list | tuple))


def _facts(record: RunRecord, device: Device | None) -> dict[str, Any]:
    facts = dict(_leaves(record.environment))
    if device is not None and device.name is not None and facts.get("gpu") is None:
        facts["gpu"] = device.name
    if record.workload:
        facts["workload"] = record.workload
    for key in _SPEC_KEYS:
        if key in record.spec:
            facts[f"spec.{key}"] = record.spec[key]
    if record.measurement is not None:
        facts["tokens_per_step"] = record.measurement.tokens_per_step
        facts["batches_per_step"] = record.measurement.batches_per_step
    return facts


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        elif not (
            key in _VARIABLES_OF_THE_CAPTURE
            or _VARIABLES_OF_THE_START.match(key) is not None
            or key.endswith(_READINGS)
        ):
            yield f"{prefix}{key}", value
