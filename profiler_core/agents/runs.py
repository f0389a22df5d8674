"""The runs of ids that an agent passes.

An id is a key of the library ("sample/customcnn/eager", as in the dashboard's addresses) or a path
on this machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.cli.history_module import check_files
from profiler_core.errors import BadInput, NotARun, NothingToAnalyse
from profiler_core.home import expanded, is_there
from profiler_core.session.comparison import Comparison
from profiler_core.session.folder import runs_of
from profiler_core.session.pair import Pair
from profiler_core.session.run import Run
from profiler_core.store import catalogue, library

# What every tool takes that compares. Several are for `compare`; the others look at one pair.
Candidate = str | list[str]
_FROM_LIST = "Take an id from list_runs, or pass a path."

# The keys of the runs that were read by now; None: paths are followed, too.
_library_alone: ContextVar[set[str] | None] = ContextVar("library_alone", default=None)


@contextmanager
def library_alone() -> Iterator[None]:
    """In the block no path is followed: who asks is not the user of this machine.

    At its end, which a large trace puts off by minutes, all runs that were read must still be here.

    Raises:
        BadInput: one was deleted meanwhile.
    """
    keys: set[str] = set()
    before = _library_alone.set(keys)
    try:
        yield
        for key in sorted(keys):
            library.entry(key, allowed=())
    finally:
        _library_alone.reset(before)


def _note_read(*keys: str) -> None:
    noted = _library_alone.get()
    if noted is not None:
        noted.update(keys)


def _follows_paths() -> bool:
    return _library_alone.get() is None


def path_of(run: str) -> Path:
    """The path of the run with this id.

    Raises:
        BadInput: there is none.
    """
    if not run.strip():
        raise BadInput("No run was named.", remedy=_FROM_LIST)
    prefix = run.split("/", 1)[0]
    if prefix in ("sample", "run", "upload", "history"):
        path = library.entry(run, allowed=()).path
        _note_read(run)
        return path
    named = _typed_path(run) if _follows_paths() else None
    if named is None:
        remedy = _FROM_LIST if _follows_paths() else "Take an id from list_runs."
        raise BadInput(f"There is no run {run[:200]}.", remedy=remedy)
    return named


def _typed_path(text: str) -> Path | None:
    """The path, where there is something; None too where no system has such a path."""
    path = expanded(text)
    return path if is_there(path) else None


def run_at(run: str) -> Run:
    """The run of an id.

    Raises:
        BadInput: there is none, or its files were changed after it was recorded.
    """
    path = path_of(run)
    check_files(path)
    return Run.open(path)


def compared(baseline: str, candidate: Candidate = "") -> Comparison:
    """The runs beside each other; a capture alone stands for all of its runs.

    Raises:
        BadInput: one of them is not there or was changed after it was recorded, or there is
            nothing to compare with.
    """
    candidates = [candidate] if isinstance(candidate, str) else candidate
    candidates = [name for name in candidates if name]
    paths = _capture(baseline) if not candidates else []
    paths = paths or [path_of(baseline), *map(path_of, candidates)]
    if len(paths) < 2:
        raise BadInput("A comparison needs two runs.", remedy="Name a candidate too.")
    for path in paths:
        check_files(path)
    return Comparison.open(paths).check()


def pair_of(baseline: str, candidate: Candidate) -> Pair:
    """A baseline and its one candidate.

    Raises:
        BadInput: one of them is not there, or there are several candidates.
    """
    pairs = compared(baseline, candidate).pairs
    if len(pairs) > 1:
        labels = ", ".join(pair.labels[1] for pair in pairs)
        raise BadInput(
            f"{len(pairs)} candidates were named: {labels}.", remedy="Ask about one of them."
        )
    return pairs[0]


def pair_or_run(baseline: str, candidate: Candidate) -> Pair | Run:
    """As `pair_of`; without a candidate the run alone, where it is no capture.

    Raises:
        BadInput: as `pair_of`.
    """
    runs: list[Path] = []
    with suppress(NotARun):  # a folder somebody copied together is one run
        runs = _capture(baseline)
    if not candidate and not runs:
        return run_at(baseline)
    return pair_of(baseline, candidate)


def compiled(run: str) -> CompilationReport:
    """What the compiler's log of a run says, with causes and costs.

    Raises:
        NothingToAnalyse: the run has no log.
        BadInput: it cannot be read.
    """
    opened = run_at(run)
    report = opened.compilation
    for problem in opened.problems("compile log"):
        raise problem.error()
    if report is None:
        raise NothingToAnalyse(
            f"{run} has no compiler log.",
            remedy="Ask for the compiled run, or capture it with logs.",
        )
    return report


def _capture(capture: str) -> list[Path]:
    """The runs of a capture by its id or folder, the baseline first; empty: it is none."""
    group = catalogue.group(capture)
    if group is not None and group.key == capture:
        _note_read(*(entry.key for entry in group.entries))
        return [entry.path for entry in group.entries]
    if not _follows_paths():
        return []
    folder = _typed_path(capture)
    if folder is None or not folder.is_dir() or (folder / "run.json").is_file():
        return []
    return runs_of(folder)
