"""Two captures never hold one device at once."""

from pathlib import Path

import pytest

from profiler_core.capture.device_lock import device_lock, lock_path
from profiler_core.errors import Cancelled


def test_each_device_has_its_lock():
    assert lock_path(Path("/j"), "cpu").name == "cpu.lock"
    assert lock_path(Path("/j"), "cuda").name == "gpu0.lock"
    assert lock_path(Path("/j"), "cuda:3").name == "gpu3.lock"


def test_the_second_is_told_who_holds_it_and_may_give_up(tmp_path):
    told = []

    def give_up():
        raise Cancelled("The capture was cancelled.", remedy="Start it again.")

    with device_lock(tmp_path / "cpu.lock", "bert b8", told.append):
        assert told == []
        with (
            pytest.raises(Cancelled),
            device_lock(tmp_path / "cpu.lock", "resnet50", told.append, give_up),
        ):
            raise AssertionError("both hold it")
    assert len(told) == 1
    assert "the capture bert b8 (process" in told[0]


def test_it_is_free_again_afterwards(tmp_path):
    told = []
    for _ in range(2):
        with device_lock(tmp_path / "jobs" / "cpu.lock", "bert", told.append):
            pass
    assert told == []
