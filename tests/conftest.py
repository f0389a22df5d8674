"""The suite on several workers (`make test`): files in an order that leaves no long one for last.

Files go to workers whole, so that what a file sets up is set up once. A worker waits for browsers
and children most of the time that it spends on them, so there are more workers than cores.
"""

import os
import sys
from collections import defaultdict
from itertools import chain, zip_longest
from pathlib import Path

import pytest
from hypothesis import settings

from tests import quick_python as quick

# An example that takes long on a busy machine is no failure.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

# These start processes, by the marks of their tests; all others together take less than a minute.
HEAVY = ("browser", "torch")


@pytest.fixture(scope="session", autouse=True)
def _home_of_the_session(tmp_path_factory: pytest.TempPathFactory):
    """No test reads or writes the home of whoever runs it; many have one of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(tmp_path_factory.mktemp("session-home")))
        yield


@pytest.fixture(scope="session")
def quick_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter for captures that has imported torch already; one for all workers."""
    folder, owner = tmp_path_factory.getbasetemp(), os.getpid()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder, owner = folder.parent, os.getppid()
    return quick.written(folder / "quick-python", owner)


@pytest.fixture(autouse=True)
def _main_module(monkeypatch: pytest.MonkeyPatch):
    """AppTest puts the page in the place of `__main__`, which a spawned process then runs first."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


def pytest_xdist_auto_num_workers() -> int:
    """One more than cores: browsers and children are waited for; each worker costs its start."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else 3


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On workers: files with browsers and with torch first and in turns, the longest ones first."""
    if not hasattr(config, "workerinput"):
        return
    files: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[item.path].append(item)
    by_mark: dict[str, list[list[pytest.Item]]] = defaultdict(list)
    for tests in files.values():
        marks = {mark.name for item in tests for mark in item.iter_markers()}
        by_mark[next((mark for mark in HEAVY if mark in marks), "")].append(tests)
    for mark in HEAVY:
        by_mark[mark].sort(key=len, reverse=True)
    in_turns = chain.from_iterable(zip_longest(*(by_mark[mark] for mark in HEAVY), fillvalue=[]))
    items[:] = chain.from_iterable(chain(in_turns, by_mark[""]))
