"""The progress lines of a capture, folded into what a person wants to read.

The lines are the launcher's (progress.jsonl): t, phase, variant, done, total, text.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

FINAL_PHASES = frozenset({"finished", "failed", "cancelled"})

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

    @property
    def fraction(self) -> float | None:
        """How much is done, 0 to 1; None where the phase cannot tell."""
        if self.done is None or not self.total:
            return None
        return min(1.0, max(0.0, self.done / self.total))


@dataclass(frozen=True)
class CaptureProgress:
    """All that the lines say."""

    phases: tuple[PhaseProgress, ...] = ()  # in order of their first line
    latest: ProgressLine | None = None
    n_unreadable: int = 0

    def of(self, variant: str | None) -> tuple[PhaseProgress, ...]:
        """The phases of one variant, in order."""
        return tuple(phase for phase in self.phases if phase.variant == variant)

    def goes_on(self, phase: PhaseProgress) -> bool:
        """Is this what the capture does now? Several variants may be in a phase at once.

        It is, where nothing of the same variant came after it and it is not complete.
        """
        if phase.fraction == 1.0 or phase.phase in FINAL_PHASES:
            return False
        return not self._after(phase)

    def ended_at(self, phase: PhaseProgress) -> float:
        """When it was over, s since the epoch: complete, or followed by the next phase."""
        if phase.fraction == 1.0:
            return phase.updated_at
        after = self._after(phase)
        return max(phase.updated_at, min(after)) if after else phase.updated_at

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

    def _after(self, phase: PhaseProgress) -> list[float]:
        """The starts of later phases of this variant; of any, for what concerns all."""
        place = self.phases.index(phase)
        return [
            other.started_at
            for other in self.phases[place + 1 :]
            if phase.variant is None or other.variant in (phase.variant, None)
        ]

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
    decoder = msgspec.json.Decoder(ProgressLine)
    phases: dict[tuple[str | None, str], PhaseProgress] = {}
    latest: ProgressLine | None = None
    n_unreadable = 0
    for raw in lines:
        if not raw.strip():
            continue
        try:
            line = decoder.decode(raw)
        except msgspec.MsgspecError:
            n_unreadable += 1
            continue
        latest = line
        key = (line.variant, line.phase)
        known = phases.get(key)
        phases[key] = (
            PhaseProgress(
                line.phase, line.variant, line.done, line.total, line.text, line.t, line.t
            )
            if known is None
            else replace(known, done=line.done, total=line.total, text=line.text, updated_at=line.t)
        )
    return CaptureProgress(tuple(phases.values()), latest, n_unreadable)
