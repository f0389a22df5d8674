"""The menus offer the newest runs of a large library, whatever is open, and every sample."""

import pytest

from profiler_core.store import catalogue
from profiler_core.store.catalogue import Line
from profiler_core.store.library import Origin
from profiler_core.ui.run_picker import offered_lines


def line(number: int, origin: Origin = "capture") -> Line:
    return Line(f"{origin}/{number}", origin, "", "", (), 0)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> tuple[Line, ...]:
    lines = (*(line(number) for number in range(100)), line(0, "sample"), line(1, "sample"))
    monkeypatch.setattr(catalogue, "newest", lambda limit: lines)
    return lines


def test_the_newest_the_current_one_and_the_samples(kept: tuple[Line, ...]) -> None:
    old = line(4_000)
    assert offered_lines(old) == (*kept[:100], old, *kept[100:])


@pytest.mark.parametrize("index", [3, 101])
def test_what_is_offered_anyway_is_offered_once(kept: tuple[Line, ...], index: int) -> None:
    assert offered_lines(kept[index]) == kept
    assert offered_lines() == kept
