"""Folders that another process deletes while they are looked at."""

import os
import shutil

import pytest

from profiler_core.store import history
from profiler_core.store.history import places, retention
from tests.store.history.samples import redated_copy


@pytest.fixture
def vanishing(home, monkeypatch):
    """Two captures, of which the first is gone whenever somebody looks into it."""
    gone = redated_copy(home, "a-gone").parent
    redated_copy(home, "stays")
    real = os.scandir

    def scandir(path="."):
        if not isinstance(path, int) and os.fspath(path) == str(gone):
            shutil.rmtree(gone, ignore_errors=True)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)


def test_what_vanishes_keeps_nothing_else_out_of_the_history(vanishing):
    assert history.reconcile().recorded == ("stays.default",)


def test_what_vanishes_keeps_retention_from_nothing(vanishing):
    assert places.run_directories() != ()
    assert retention.planned(retention.configured_rules()).removals == ()
