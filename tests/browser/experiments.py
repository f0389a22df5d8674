"""Experiments in the home of the shared dashboard."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from profiler_core.model.experiment import Experiment
from profiler_core.store.experiments import folder_of
from tests.browser.conftest import Server
from tests.ui.test_experiments_page import ended


@contextmanager
def ended_experiment(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Experiment]:
    """One of a made-up world, with its captures; all of it is gone when the block ends."""
    runs = server.home / "runs"
    experiment = ended(monkeypatch, server.home)
    try:
        yield experiment
    finally:
        shutil.rmtree(folder_of(runs, experiment.experiment_id))
        for batch in experiment.batches:
            shutil.rmtree(runs / batch.capture_id)
