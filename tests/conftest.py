"""The suite on several workers (`make test`): files in an order that leaves no long one for last.

Files go to workers whole, so that what a file sets up is set up once. A worker waits for browsers
and children most of the time that it spends on them, so there are more workers than cores.
"""

import contextlib
import gc
import importlib
import os
import pickle
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings

from tests import quick_python as quick
from tests.quick_python import torch_variables

# One thread each, in the children too: those of OpenMP and of Polars wait for each other by
# spinning, and four workers have two cores. It was half of what tests with torch took of a core.
for _threads in ("OMP_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(_threads, "1")

# Hundreds of processes import the same modules, and each would compile them anew, for half a second
# of a core; `make test` unsets it too, for what stands before this file.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# An example that takes long on a busy machine is no failure.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

TESTS = Path(__file__).resolve().parent

# These start processes, by the marks of their tests; all others together take some seven minutes.
HEAVY = ("browser", "torch")

# What takes more than 15 seconds of a core, or 30 of a worker, the longest first: none of it is
# left for last.
LONGEST = (
    "browser/test_wheel.py",
    "analysis/ledger/test_accuracy.py",
    "browser/test_pages.py",
    "test_pages.py",
    "browser/test_capture_page.py",
    "capture/elsewhere/test_over_ssh.py",
    "browser/test_questions.py",
    "testing/test_plugin.py",
    "experiments/test_pasted_runs.py",
    "analysis/ranks/test_groups.py",
    "attack/test_api_tokens.py",
    "browser/test_experiments_page.py",
    "ui/test_ranks_page.py",
    "browser/test_tutorial.py",
    "browser/test_report.py",
    "browser/test_sign_in.py",
    "attack/test_own_machine.py",
    "capture/test_capture_cli.py",
    "capture/test_examples.py",
    "operate/test_integrity.py",
    "record/test_recorder.py",
    "api/test_tutorial_notebook.py",
    "capture/test_full_capture.py",
    "browser/test_review_page.py",
    "analysis/ranks/test_critical_path.py",
    "integrations/test_trainers.py",
    "browser/test_runs_page.py",
    "browser/test_dossier.py",
    "browser/test_compilation_page.py",
    "attack/test_server_paths.py",
    "capture/test_compile_targets.py",
    "store/history/test_backup.py",
    "browser/test_timeline.py",
    "capture/test_ranks.py",
    "browser/test_fusion_page.py",
    "store/history/test_upgrades.py",
    "session/test_same_numbers.py",
    "ingest/nsight_systems/test_hostile.py",
    "browser/test_upload.py",
    "capture/test_script.py",
    "browser/test_perfetto.py",
    "capture/elsewhere/test_clusters.py",
    "attack/test_forged_widgets.py",
    "analysis/test_one_file_finding.py",
)


@pytest.fixture(scope="session", autouse=True)
def _home_of_the_session(tmp_path_factory: pytest.TempPathFactory, columns: Path):
    """No test reads or writes the home of whoever runs it; many have one of their own."""
    home = tmp_path_factory.mktemp("session-home")
    (home / "cache").symlink_to(columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(home))
        yield


@pytest.fixture(scope="session")
def columns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for `cache` of a home to link to: each content is read once, for all workers.

    Not for a test of how something is read for the first time, or of what the cache holds.
    """
    folder, _ = _of_all_workers(tmp_path_factory)
    (folder / "columns").mkdir(exist_ok=True)
    return folder / "columns"


@pytest.fixture
def home_with_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: Path) -> Path:
    """A home of the test's own, but for what all tests read of the same files."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "cache").symlink_to(columns)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    return home


@pytest.fixture(scope="module")
def home_of_module(tmp_path_factory: pytest.TempPathFactory, columns: Path) -> Iterator[Path]:
    """The same for all tests of a module."""
    home = tmp_path_factory.mktemp("home")
    (home / "cache").symlink_to(columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(home))
        yield home


@pytest.fixture(scope="session")
def quick_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter for captures that has imported torch already; one for all workers."""
    folder, owner = _of_all_workers(tmp_path_factory)
    return quick.written(folder / "quick-python", owner)


@pytest.fixture(scope="session", autouse=True)
def _compiler_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Inductor's libraries are each made once, for all workers, unless a test unsets CXX."""
    folder, _ = _of_all_workers(tmp_path_factory)
    with pytest.MonkeyPatch.context() as patch:
        compiler = quick.compiler(folder)
        if compiler is not None and "CXX" not in os.environ:
            patch.setenv("CXX", str(compiler))
        yield


@pytest.fixture
def quick_modules(monkeypatch: pytest.MonkeyPatch, quick_python: Path) -> None:
    """Our own processes are forked from one that has imported what they do."""
    from profiler_core.worker import process

    # Not `module_words`, which others have imported by its name.
    monkeypatch.setattr(process, "sys", SimpleNamespace(executable=str(quick_python)))


def _of_all_workers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A folder that all workers of this run have in common, and the process above them."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        return folder.parent, os.getppid()
    return folder, os.getpid()


@pytest.fixture(scope="session", autouse=True)
def _installed_components(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """AppTest reads what all installed packages say of themselves, a second of a core per page.

    It looks for components of Streamlit; which packages there are does not change meanwhile, and
    one worker tells the others.
    """
    if "streamlit.testing.v1" not in sys.modules:  # nothing that was collected opens a page
        yield
        return
    from streamlit.components.v2 import manifest_scanner

    scan = manifest_scanner.scan_component_manifests
    folder, _ = _of_all_workers(tmp_path_factory)
    kept = folder / "components.pickle"

    @cache
    def scanned() -> Any:
        if not kept.exists():
            new = kept.with_suffix(f".{os.getpid()}")
            new.write_bytes(pickle.dumps(scan()))
            new.replace(kept)
        return pickle.loads(kept.read_bytes())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", scanned)
        yield


@pytest.fixture(scope="session", autouse=True)
def _joined_scripts() -> Iterator[None]:
    """AppTest waits for the end of a page's thread, instead of looking for it each millisecond.

    Each look takes the interpreter's lock from the page, which runs for longer beside others.
    """
    if "streamlit.testing.v1" not in sys.modules:  # nothing that was collected opens a page
        yield
        return
    from streamlit.testing.v1 import local_script_runner

    look = local_script_runner.require_widgets_deltas

    def joined(runner: Any, timeout: float = 3) -> None:
        runner._script_thread.join(timeout)
        if not runner.script_stopped():
            look(runner, timeout=0)  # stops it, and says that it took too long

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", joined)
        yield


@pytest.fixture(scope="session", autouse=True)
def _migrations_once() -> Iterator[None]:
    """New databases get their tables without Alembic, 50 ms of a core for each of some 600."""
    if "sqlalchemy" not in sys.modules:  # nothing that was collected has a database
        yield
        return
    from tests import quick_schema

    with quick_schema.replayed():
        yield


@pytest.fixture
def unasked_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page asks an interpreter what it has; the form stays as while the answer is awaited.

    The answer imports torch, six seconds of a core, and a page never waits for it: the process ran
    on beside later tests. tests/browser/test_capture_page.py waits for it.
    """
    monkeypatch.setattr(
        "profiler_core.ui.capture.machine._Question._ask", lambda _self, _question: None
    )


@pytest.fixture(autouse=True)
def _variables_of_torch() -> Iterator[None]:
    """What torch and its friends set in this process is gone after the test that imported them.

    A later capture would inherit it, and with other values than the forking server has, each of its
    children gets an interpreter of its own: two and a half seconds of a core.
    """
    with torch_variables.kept():
        yield


@pytest.fixture(autouse=True)
def _main_module(monkeypatch: pytest.MonkeyPatch):
    """AppTest puts the page in the place of `__main__`, which a spawned process then runs first."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """On workers of a new checkout: each imports another part of the test modules first.

    All collect all of them, and none has bytecode yet: eleven seconds of a core are spent on the
    assertions of what a worker is the first to import.
    """
    config = session.config
    if not hasattr(config, "workerinput"):
        return
    number = int(config.workerinput["workerid"].removeprefix("gw"))
    folders = [config.invocation_params.dir / argument.split("::")[0] for argument in config.args]
    modules = sorted(path for folder in folders for path in folder.rglob("test_*.py"))
    for path in modules[number :: config.workerinput["workercount"]]:
        # What cannot be imported is reported by the collection.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            name = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
            importlib.import_module(name)


COLLECTED = pytest.StashKey[frozenset[str]]()  # the modules that were imported to collect


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for garbage less often, and not among all that was imported: an eighth of a core.

    Traces are read as millions of small objects, and each look goes through those that live.
    """
    session.config.stash[COLLECTED] = frozenset(sys.modules)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_configure(config: pytest.Config) -> None:
    """Let the interpreter's end see all again: DuckDB reports what it does not as leaks.

    That is the last thing done: pytest looks for garbage twice at its end, two seconds of a core
    each where what `pytest_collection_finish` put aside is looked through as well.
    """
    config.add_cleanup(gc.unfreeze)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Put aside what pytest's first look for garbage has left, from its second."""
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """Two more than cores: three workers of two cores wait an eighth of the time all at once.

    They wait for browsers and children; a fourth costs ten seconds of a core for its start.
    """
    return len(os.sched_getaffinity(0)) + 2 if hasattr(os, "sched_getaffinity") else 4


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whole files to a worker, as `--dist loadfile` asks; few workers have a browser."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.scheduling import BrowsersTogether

    return BrowsersTogether(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On workers: the longest files first, then those with browsers and with torch in turns."""
    if not hasattr(config, "workerinput"):
        return
    files: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[item.path].append(item)
    longest = [files.pop(TESTS / name, []) for name in LONGEST]
    by_mark: dict[str, list[list[pytest.Item]]] = defaultdict(list)
    for tests in files.values():
        marks = {mark.name for item in tests for mark in item.iter_markers()}
        by_mark[next((mark for mark in HEAVY if mark in marks), "")].append(tests)
    for mark in HEAVY:
        by_mark[mark].sort(key=len, reverse=True)
    in_turns = chain.from_iterable(zip_longest(*(by_mark[mark] for mark in HEAVY), fillvalue=[]))
    items[:] = chain.from_iterable(chain(longest, in_turns, by_mark[""]))
