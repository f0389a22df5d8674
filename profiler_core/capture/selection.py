"""What a search adds to a capture: variants that stop early, and compiled code that is kept."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from profiler_core.capture.run_writer import RunWriter


class Timed(Protocol):
    """A variant that takes part in the rounds."""

    writer: RunWriter

    @property
    def label(self) -> str:
        """Of the variant."""
        ...

    def kill(self) -> None:
        """End its process."""
        ...

    def finish(self) -> None:
        """Write its final status."""
        ...


TimedRun = TypeVar("TimedRun", bound=Timed)
# Labels -> `measurement` of run.json so far, and the number of turns -> labels that stop.
Judge = Callable[[Mapping[str, Mapping[str, Any]], int], Collection[str]]


@dataclass(frozen=True)
class Selection:
    """Which variants stop being timed, and where compiled code outlives the capture.

    caches: holds a folder for each variant; a variant that is captured again compiles warm.
    experiment: the id of the search that the runs are of; empty: of none.
    is_late: asked of a label while that variant is built and compiled: is it left out now, so that
    the others can still be timed?
    """

    caches: Path
    judge: Judge
    experiment: str = ""
    is_late: Callable[[str], bool] = lambda _: False

    def leave_out(self, runs: Sequence[TimedRun], n_turns: int) -> list[TimedRun]:
        """End those that the judge stops; they keep their rounds and have no further pass."""
        stopped = self.judge({run.label: run.writer.measurement for run in runs}, n_turns)
        left_out = [run for run in runs if run.label in stopped]
        for run in left_out:
            run.kill()
            run.writer.measurement.setdefault("notes", []).append(
                f"Timing stopped after {n_turns} rounds: by then another was faster."
            )
            run.finish()
        return left_out
