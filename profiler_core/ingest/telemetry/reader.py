"""nvml.jsonl and host.jsonl -> samples by time; lines that are none are counted and left out.

Lines may be of another tool as long as they have t_ns and gpu_index; unknown keys are ignored. A
file that was cut while it was written has a broken last line. Typed decoding costs about 1 µs a
line (2 minutes at 20 Hz: 3 ms), so these files are read where they are asked for.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from profiler_core.errors import BadInput
from profiler_core.ingest.empty import empty_file
from profiler_core.ingest.limits import configured
from profiler_core.ingest.stream import Stream
from profiler_core.model.run import RunFiles
from profiler_core.model.tally import Tally
from profiler_core.model.telemetry import GpuSample, GpuSamples, HostSample, HostSamples
from profiler_core.typed import ready

MOST_BYTES = 32 << 20  # over an hour at 20 Hz; decoding it takes about a quarter second

_Sample = TypeVar("_Sample", GpuSample, HostSample)


def read_gpu_samples(path: Path) -> GpuSamples:
    """Samples of all GPUs in the file.

    Raises:
        BadInput: there is no sample in it, it is too large, or it cannot be read.
    """
    samples, tally = _read(path, GpuSample)
    return GpuSamples(samples, tally)


def read_host_samples(path: Path) -> HostSamples:
    """Samples of the process.

    Raises:
        BadInput: as `read_gpu_samples`.
    """
    samples, tally = _read(path, HostSample)
    return HostSamples(samples, tally)


@dataclass(frozen=True)
class RunSamples:
    """All samples of one run. None: it has no such file, or `problems` says what is wrong."""

    gpus: GpuSamples | None = None
    hosts: HostSamples | None = None
    problems: dict[str, str] = field(default_factory=dict)  # "gpu" or "host" -> a sentence


def read_run_samples(run: RunFiles) -> RunSamples:
    """Of a run; a damaged file takes nothing else with it."""
    gpus = hosts = None
    problems = {}
    try:
        gpus = read_gpu_samples(run.nvml) if run.nvml else None
    except BadInput as error:
        problems["gpu"] = error.problem
    try:
        hosts = read_host_samples(run.host) if run.host else None
    except BadInput as error:
        problems["host"] = error.problem
    return RunSamples(gpus, hosts, problems)


def _read(path: Path, kind: type[_Sample]) -> tuple[tuple[_Sample, ...], Tally]:
    decode = msgspec.json.Decoder(ready(kind)).decode
    samples: list[_Sample] = []
    n_lines = n_bad = 0
    for line in _content(path).split(b"\n"):
        if not line.strip():
            continue
        n_lines += 1
        try:
            samples.append(decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            n_bad += 1
    if not n_lines:
        raise empty_file(path.name, BadInput)
    if not samples:
        raise BadInput(
            f"{path.name} holds no sample: none of its {n_lines} lines is one.",
            remedy="Pass an nvml.jsonl of a capture, or samples with t_ns and gpu_index a line.",
        )
    samples.sort(key=lambda sample: sample.t_ns)
    skipped = {"no sample": n_bad} if n_bad else {}
    return tuple(samples), Tally(n_lines, skipped)


def _content(path: Path) -> bytes:
    blocks, size = [], 0
    try:
        for block in Stream(path, configured()):
            size += len(block)
            if size > MOST_BYTES:
                raise BadInput(
                    f"{path.name} holds more than {MOST_BYTES >> 20} MB of samples.",
                    remedy="Cut the part of interest out of it: each line stands for itself.",
                )
            blocks.append(block)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror}.",
            remedy="Check the path and its permissions.",
        ) from error
    return b"".join(blocks)
