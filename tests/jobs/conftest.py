"""A home of its own, in which no job outlives its test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from profiler_core.jobs import service as jobs
from tests.jobs.waiting import wait_for


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    yield tmp_path
    for left in jobs.jobs():
        if left.is_live:
            jobs.cancel(left.job_id)
    wait_for(lambda: not any(left.is_live for left in jobs.jobs()))
