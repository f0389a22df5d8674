"""How far samples came from their deadlines: what the sampler says about itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from profiler_core.model.telemetry import GpuSample

_GAP_PERIODS = 10  # so many missing in a row: another session, not a missed deadline


@dataclass(frozen=True)
class SamplerJitter:
    """Distance of the samples from a grid of one period, the grid laid through their median.

    median_ns, max_ns: of the absolute distance. n_missed: deadlines without a sample.
    """

    n: int
    period_ns: int
    median_ns: int
    max_ns: int
    n_missed: int


def jitter(samples: Sequence[GpuSample]) -> SamplerJitter | None:
    """Of one GPU's samples, over all sessions; None with fewer than three samples.

    The period is the one that the sampler noted, else the median distance. Each session (from a
    noted start, or after a long gap) has a grid of its own.
    """
    if len(samples) < 3:
        return None
    steps = [b.t_ns - a.t_ns for a, b in pairwise(samples)]
    noted = [s.sampler.period_s for s in samples if s.sampler and s.sampler.period_s]
    usual = round(min(noted) * 1e9) if noted else _guessed(steps)
    if usual <= 0:
        return None
    distances: list[int] = []
    n_missed = 0
    for session, period in _sessions(samples, usual):
        first = session[0].t_ns
        grid_numbers = [round((sample.t_ns - first) / period) for sample in session]
        off = [s.t_ns - first - p * period for s, p in zip(session, grid_numbers, strict=True)]
        middle = round(median(off))
        distances += [abs(offset - middle) for offset in off]
        n_missed += max(0, grid_numbers[-1] + 1 - len(set(grid_numbers)))
    return SamplerJitter(len(distances), usual, round(median(distances)), max(distances), n_missed)


def _guessed(steps: Sequence[int]) -> int:
    """A median distance off by 10 µs would drift away from the samples; the whole span does not."""
    near = [step for step in steps if step < _GAP_PERIODS * median(steps)]
    n_periods = sum(max(1, round(step / median(near))) for step in near)
    return round(sum(near) / n_periods) if n_periods else 0


def _sessions(samples: Sequence[GpuSample], usual: int) -> Iterator[tuple[list[GpuSample], int]]:
    """(samples, period) from one start of a sampler to the next."""
    session: list[GpuSample] = []
    period = usual
    for sample in samples:
        far = session and sample.t_ns - session[-1].t_ns > _GAP_PERIODS * period
        if session and (sample.sampler is not None or far):
            yield session, period
            session = []
        if sample.sampler is not None and sample.sampler.period_s:
            period = round(sample.sampler.period_s * 1e9)
        session.append(sample)
    if session:
        yield session, period
