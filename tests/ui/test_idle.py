"""A server that has come to rest gives memory back, once, and not while somebody waits for it."""

from threading import Event

import pytest

from profiler_core.ui import idle


@pytest.mark.parametrize(
    ("used_s", "n_cleaned"),
    [
        ([0, 0, 0], 0),  # nothing happened since it was clean
        ([9, 0, 0, 0], 1),
        ([9, 9, 9], 0),
        ([9, 0, 9, 0.4, 0.4], 2),
    ],
)
def test_it_cleans_up_when_it_comes_to_rest(monkeypatch, used_s, n_cleaned):
    cleaned, total = [], [0.0]
    looks = iter(used_s)

    class Stopped(Event):
        def wait(self, timeout=None):
            assert timeout == 10
            spent = next(looks, None)
            total[0] += spent or 0
            return spent is None

    monkeypatch.setattr(idle.time, "process_time", lambda: total[0])
    monkeypatch.setattr(idle, "give_back", lambda: cleaned.append(1))
    idle.look_after_memory(Stopped(), look_s=10)
    assert len(cleaned) == n_cleaned


def test_free_memory_goes_to_the_system(monkeypatch):
    asked = []

    class Library:
        def malloc_trim(self, pad):
            asked.append(pad)

    monkeypatch.setattr(idle.ctypes, "CDLL", lambda _name: Library())
    idle.give_back()
    assert asked == [0]


def test_a_library_that_keeps_its_memory_is_no_error(monkeypatch):
    monkeypatch.setattr(idle.ctypes, "CDLL", lambda _name: object())
    idle.give_back()
