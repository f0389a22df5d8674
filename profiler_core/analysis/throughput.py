"""What one run does in a second: tokens of a decoding step, samples of any other."""

from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.noise import repeated
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.model.run import RunRecord

Counted = Literal["tokens", "samples"]


@dataclass(frozen=True)
class Throughput:
    """Work of one step over its step time, without the profiler, the median over the rounds."""

    counted: Counted
    per_second: float
    # 95 %: where it would lie if the run were started and timed once more; None: too few rounds.
    interval: tuple[float, float] | None


def batch_size(record: RunRecord) -> int | None:
    """Samples of a batch, as asked for; None: the workload's own, which nobody wrote down."""
    requested = record.spec.get("batch_size")
    if not isinstance(requested, int) or isinstance(requested, bool):
        return None
    return requested if requested > 0 else None


def samples_per_step(record: RunRecord, batch: int | None) -> int | None:
    """Those of all the batches over which gradients are accumulated; None: no batch size."""
    n_batches = record.measurement.batches_per_step if record.measurement else 1
    return None if batch is None else batch * n_batches


def per_second(work: int | None, step_ns: float | None) -> float | None:
    """Work of a step over its time; None where one of them is not there."""
    return work * 1e9 / step_ns if work and step_ns else None


def throughput(record: RunRecord) -> Throughput | None:
    """Tokens where a step says how many it makes, else samples; None: neither is known."""
    measurement = record.measurement
    if measurement is None:
        return None
    tokens = measurement.tokens_per_step
    work = tokens or samples_per_step(record, batch_size(record))
    rate = per_second(work, step_time_ns(measurement))
    if rate is None:
        return None
    factors = repeated(measurement, on_gpu=bool(record.environment.get("gpu")))
    interval = None if factors is None else (rate / factors[1], rate / factors[0])
    return Throughput("tokens" if tokens else "samples", rate, interval)
