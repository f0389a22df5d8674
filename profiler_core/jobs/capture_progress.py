"""The progress lines of a capture, folded into phases and points.

The lines are the launcher's (progress.jsonl): t, phase, variant, done, total, text.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from profiler_core.typed import ready

FINAL_PHASES = frozenset({"finished", "failed", "cancelled"})
POINT = "point"  # begins each capture of a sweep

# A capture writes some thousand lines; what is older than this is not needed to show it.
_READ_AT_MOST_BYTES = 4_000_000


class ProgressLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of progress.jsonl."""

    t: float  # s since the epoch
    phase: str
    variant: str | None = None
    done: float | None = None
    total: float | None = None
    text: str = ""


@dataclass(frozen=True)
class PhaseProgress:
    """One phase of one variant (None: of the whole capture), as far as it has come."""

    phase: str
    variant: str | None
    done: float | None
    total: float | None
    text: str
    started_at: float
    updated_at: float
    left_at: float | None = None  # when the capture went on to something else

    @property
    def ended_at(self) -> float:
        """The end of the phase, s since the epoch: when the next one began, else its last line."""
        return self.updated_at if self.left_at is None else self.left_at

    @property
    def fraction(self) -> float | None:
        """How much is done, 0 to 1; None where the phase cannot tell."""
        if self.done is None or not self.total:
            return None
        return min(1.0, max(0.0, self.done / self.total))


@dataclass(frozen=True)
class PointProgress:
    """One point of a sweep, as far as it has come."""

    text: str  # "Point 2 of 4: batch size 8"
    number: int
    n_points: int
    started_at: float
    updated_at: float
    ended_as: str | None = None  # its own last word, of FINAL_PHASES
    failed_variants: frozenset[str] = frozenset()

    @property
    def state(self) -> Literal["running", "finished", "partly", "failed", "cancelled"]:
        """failed: no variant could be measured; partly: some could not."""
        if self.ended_as == "finished":
            return "partly" if self.failed_variants else "finished"
        if self.ended_as == "cancelled":
            return "cancelled"
        return "failed" if self.ended_as == "failed" else "running"


@dataclass(frozen=True)
class CaptureProgress:
    """The folded lines; of a sweep the phases are those of its latest point."""

    phases: tuple[PhaseProgress, ...] = ()  # in order of their first line
    points: tuple[PointProgress, ...] = ()  # of a sweep, those begun so far
    latest: ProgressLine | None = None
    n_unreadable: int = 0

    @property
    def latest_is_final(self) -> bool:
        """Did the whole capture say how it ended?"""
        latest = self.latest
        return latest is not None and latest.variant is None and latest.phase in FINAL_PHASES

    def of(self, variant: str | None) -> tuple[PhaseProgress, ...]:
        """The phases of one variant, in order."""
        return tuple(phase for phase in self.phases if phase.variant == variant)

    def goes_on(self, phase: PhaseProgress) -> bool:
        """Whether the capture is in this phase now.

        It does one thing at a time, but for the start, which all variants share.
        """
        if self.latest is not None and (phase.variant, phase.phase) == (
            self.latest.variant,
            self.latest.phase,
        ):
            return phase.phase not in FINAL_PHASES and phase.fraction != 1.0
        later = self.phases[self.phases.index(phase) + 1 :]
        return phase.phase == "starting" and not any(
            following.variant in (phase.variant, None) or phase.variant is None
            for following in later
        )

    def stopped_in(self, variant: str | None) -> PhaseProgress | None:
        """The phase in which this variant failed or was cancelled; None where it was not."""
        last: PhaseProgress | None = None
        for phase in self.phases:
            if phase.variant in (variant, None):
                if phase.phase in ("failed", "cancelled"):
                    return last
                if phase.phase not in FINAL_PHASES:
                    last = phase
        return None

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants met, in order of their first line."""
        return tuple(dict.fromkeys(p.variant for p in self.phases if p.variant is not None))


def read_progress(path: Path) -> CaptureProgress:
    """Fold a progress file; an absent one is a capture that has not said anything yet."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _READ_AT_MOST_BYTES))
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return CaptureProgress()
    if size > _READ_AT_MOST_BYTES:
        lines = lines[1:]  # cut in its middle
    return fold(lines)


def fold(lines: Iterable[bytes]) -> CaptureProgress:
    """Lines -> phases. A line that is cut off or no object of ours is counted, not read."""
    decoder = msgspec.json.Decoder(ready(ProgressLine))
    phases: dict[tuple[str | None, str], PhaseProgress] = {}
    points: list[PointProgress] = []
    latest: ProgressLine | None = None
    n_unreadable = 0
    for raw in lines:
        if not raw.strip():
            continue
        try:
            line = decoder.decode(raw)
        except (ValueError, RecursionError):  # half characters, nesting without end
            n_unreadable += 1
            continue
        key = (line.variant, line.phase)
        if latest is not None and (before := (latest.variant, latest.phase)) in phases.keys() - {
            key
        }:
            phases[before] = replace(phases[before], left_at=line.t)
        latest = line
        if line.phase == POINT:
            phases.clear()
            points.append(_begun(line))
            continue
        if points and points[-1].ended_as is None:
            points[-1] = _continued(points[-1], line)
        previous = phases.get(key)
        phases[key] = (
            PhaseProgress(
                line.phase, line.variant, line.done, line.total, line.text, line.t, line.t
            )
            if previous is None
            else replace(
                previous, done=line.done, total=line.total, text=line.text, updated_at=line.t
            )
        )
    return CaptureProgress(tuple(phases.values()), tuple(points), latest, n_unreadable)


def _begun(line: ProgressLine) -> PointProgress:
    return PointProgress(line.text, int(line.done or 0), int(line.total or 0), line.t, line.t)


def _continued(point: PointProgress, line: ProgressLine) -> PointProgress:
    """The point after one more line; a final line without a variant ends the point."""
    point = replace(point, updated_at=line.t)
    if line.phase not in FINAL_PHASES:
        return point
    if line.variant is None:
        return replace(point, ended_as=line.phase)
    # Variants that do not fit together fail, and are measured again one after another.
    variants = frozenset({line.variant})
    failed = point.failed_variants
    return replace(
        point, failed_variants=failed | variants if line.phase == "failed" else failed - variants
    )
