"""From paths and URLs to results."""

import atexit
import os
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path, PurePosixPath

from fusionscope.results import Comparison, Run
from profiler_core.errors import BadInput
from profiler_core.ranks.remote import download, is_url
from profiler_core.resources import sample_traces_directory
from profiler_core.session import comparison as session
from profiler_core.session.folder import runs_at, runs_of
from profiler_core.session.run import Run as OpenedRun

Location = str | os.PathLike[str]


def open(path_or_url: Location) -> Run | Comparison:  # noqa: A001 - as pandas and PIL call theirs
    """What lies at a path or a URL: a `Run`, or of a folder with several runs their `Comparison`.

    Nothing but the folder is read before it is asked for.

    Args:
        path_or_url: a run directory, the folder of a capture, a .zip of either, a trace
            (Kineto, Nsight Systems, …), or a URL of one of these (https://, s3://, gs://, …).

    Raises:
        FusionscopeError: nothing of the kind lies there, or the URL cannot be reached.
    """
    paths = runs_at([_local(path_or_url)])
    if len(paths) > 1:
        return Comparison(session.Comparison.open(paths))
    return Run(OpenedRun.open(paths[0]))


def compare(baseline: Location | Run, *candidates: Location | Run) -> Comparison:
    """A baseline beside its candidates: every number per step, the verdict, and its reasons.

    Args:
        baseline: a path, a URL or a `Run`; alone, the folder of a capture, whose baseline is the
            variant that was captured first.
        candidates: likewise, in the order in which they are shown.

    Raises:
        FusionscopeError: no run lies there, a folder holds fewer than two, or a trace cannot be
            read and its run was not timed either.
    """
    if candidates:
        runs = [_opened(location) for location in (baseline, *candidates)]
    elif isinstance(baseline, Run):
        raise BadInput(
            f"{baseline.path} is one run, and a comparison needs two.",
            remedy="Name a candidate too: compare(baseline, candidate).",
        )
    else:
        return compare_all(runs_of(_local(baseline)))
    return Comparison(session.Comparison(runs).check())


def compare_all(paths: Sequence[Path]) -> Comparison:
    """The runs at these paths, the baseline's first."""
    return Comparison(session.Comparison.open(paths).check())


def sample(name: str) -> Path:
    """The folder of a capture that ships with Fusionscope, for `open` and `compare`.

    Args:
        name: such as "resnet50" or "customcnn".

    Raises:
        FusionscopeError: there is no such sample; the error names those that are there.
    """
    folder = sample_traces_directory()
    names = sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name[0] != "_")
    if name not in names:
        raise BadInput(f"There is no sample “{name}”.", remedy=f"Choose one of {', '.join(names)}.")
    return folder / name


def _opened(location: Location | Run) -> OpenedRun:
    if isinstance(location, Run):
        return location._run
    return OpenedRun.open(_local(location))


def _local(location: Location) -> Path:
    """A path on this machine; what a URL names is fetched, and stays until this process ends."""
    text = os.fspath(location)
    if not is_url(text):
        return Path(text).expanduser()
    folder = Path(tempfile.mkdtemp(dir=_fetched()))
    return download(text, folder / (PurePosixPath(text).name or "fetched"))


@cache
def _fetched() -> str:
    """The folder for what was fetched."""
    folder = tempfile.TemporaryDirectory(prefix="fusionscope-fetched-")
    atexit.register(folder.cleanup)
    return folder.name
