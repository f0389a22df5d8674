"""The menus offer the newest runs of a large library, whatever is open, and every sample."""

from pathlib import Path

from profiler_core.model.run import RunRecord
from profiler_core.store.library import Comparable, Entry, Origin
from profiler_core.ui.run_picker import offered_groups


def group(number: int, origin: Origin = "capture") -> Comparable:
    key = f"{origin}/{number}"
    entry = Entry(key, Path("/nowhere"), RunRecord(), origin)
    return Comparable(key, origin, Path("/nowhere"), entry, (), "")


def test_the_newest_the_current_one_and_the_samples() -> None:
    own = [group(number) for number in range(5_000)]
    samples = [group(number, "sample") for number in range(8)]
    offered = offered_groups([*own, *samples], own[4_000])
    assert offered[:100] == tuple(own[:100])
    assert offered[100] is own[4_000]
    assert offered[101:] == tuple(samples)


def test_of_few_everything() -> None:
    every = [group(0), group(1), group(2, "sample")]
    assert offered_groups(every, every[2]) == tuple(every)
