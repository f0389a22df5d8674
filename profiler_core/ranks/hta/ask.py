"""Runs every analysis of HTA; an exception becomes a sentence beside our own figures."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd

from profiler_core.analysis.ranks.job import Job
from profiler_core.errors import FusionscopeError
from profiler_core.ingest.kineto.profiler_ranges import has_ranges, read_ranges
from profiler_core.ingest.open import open_trace
from profiler_core.model.trace import Trace
from profiler_core.ranks import remote
from profiler_core.ranks.find import RankFile, RankFiles
from profiler_core.ranks.hta.analyses import ANALYSES, Analysis, Material, own_figures
from profiler_core.ranks.hta.answer import Figure, HtaAnalysis, HtaAnswer, Status, judged
from profiler_core.ranks.hta.counted import add_counted, counted
from profiler_core.ranks.hta.frames import Frames, add_rank
from profiler_core.ranks.hta.own import own_numbers

MOST_RANKS = 4  # HTA holds all of them in pandas frames at once
_NAMES = ("HolisticTraceAnalysis", "traceinsight")  # one project, two names on the index


def ask_hta(rank_files: RankFiles, job: Job, baseline: RankFiles | None = None) -> HtaAnswer:
    """HTA's answers on the first ranks of a job, each beside our own.

    Raises:
        BadInput: a trace cannot be read.
    """
    frames, counter_frames = Frames(), Frames()
    own_by_rank, sums = {}, {}
    for file in chosen_ranks(rank_files, job):
        trace = _trace(file)
        if trace.has_device_events:
            add_rank(frames, file.rank, trace)
            own_by_rank[file.rank] = own_numbers(trace)
        if has_ranges(trace):
            ranges = read_ranges(Path(file.location), trace)
            add_counted(counter_frames, file.rank, trace, ranges)
            sums[file.rank] = counted(trace, ranges)
    before = _first_of(baseline) if baseline is not None else None
    material = Material(frames, own_by_rank, job, before, counter_frames, sums)
    version, problem = installed()
    if not frames.traces and not sums:
        return HtaAnswer(version, "No rank has GPU events.", (), ())
    applicable = [a for a in ANALYSES if frames.traces or a.key == "cupti_counters"]
    analyses = [_analysed(entry, material, problem) for entry in applicable]
    return HtaAnswer(version, problem, tuple(sorted({*own_by_rank, *sums})), tuple(analyses))


def _first_of(baseline: RankFiles) -> Frames | None:
    """The first rank of the job to compare with that can be read; None where none can."""
    for file in baseline.files:
        try:
            trace = _trace(file)
        except FusionscopeError:
            continue
        if trace.has_device_events:
            frames = Frames()
            add_rank(frames, file.rank, trace)
            return frames
    return None


def chosen_ranks(rank_files: RankFiles, job: Job) -> list[RankFile]:
    """The first ranks that could be read, and the one that the others wait for."""
    late = job.straggler.rank if job.straggler else None
    read = {row.rank for row in job.ranks} or {file.rank for file in rank_files.files}
    local = [f for f in rank_files.files if f.rank in read and not remote.is_url(f.location)]
    first = [file for file in local if file.rank != late]
    late_files = [file for file in local if file.rank == late]
    return sorted([*first[: MOST_RANKS - len(late_files)], *late_files], key=lambda file: file.rank)


def installed() -> tuple[str | None, str | None]:
    """(name and version, None), or (None, why it cannot be used)."""
    try:
        import hta.common.trace  # noqa: F401 - imported to see whether it can be
    except Exception as error:  # a broken installation may raise anything while it loads
        return None, (
            "HolisticTraceAnalysis cannot be used here "
            f"({type(error).__name__}: {str(error)[:160]}); these are Fusionscope's own numbers."
        )
    for name in _NAMES:
        try:
            return f"{name} {metadata.version(name)}", None
        except metadata.PackageNotFoundError:
            continue
    return "HTA of unknown version", None


def _analysed(analysis: Analysis, material: Material, problem: str | None) -> HtaAnalysis:
    status, sentence, figures = _answered(analysis, material, problem)
    return HtaAnalysis(
        analysis.key, analysis.title, analysis.call, status, analysis.meaning, sentence, figures
    )


def _answered(
    analysis: Analysis, material: Material, problem: str | None
) -> tuple[Status, str, tuple[Figure, ...]]:
    if problem is not None:
        figures = tuple(own_figures(analysis.key, material))
        return "failed" if figures else "absent", problem, figures
    try:
        with _quiet(), _pandas_3():
            return judged(tuple(analysis.ask(material)), analysis.absent)
    except Exception as error:  # HTA asserts, divides and indexes as it goes: anything may come
        figures = tuple(own_figures(analysis.key, material))
        sentence = f"HTA failed here ({type(error).__name__}: {str(error)[:160]})"
        sentence += ": Fusionscope's number is kept." if figures else "."
        return "failed", sentence, figures


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings and log lines that HTA writes for notebooks."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextmanager
def _pandas_3() -> Iterator[None]:
    """What HTA 0.5.0 was written for, and pandas 3 does no more.

    It passes `axis` beside `columns`, which is refused now and was ignored; and it replaces words
    by numbers, which left numbers and leaves objects now.
    """
    drop, replace = pd.DataFrame.drop, pd.DataFrame.replace

    def drop_without_axis(self: pd.DataFrame, *args: Any, **options: Any) -> Any:
        if "columns" in options or "index" in options:
            options.pop("axis", None)
        return drop(self, *args, **options)

    def replace_by_numbers(self: pd.DataFrame, *args: Any, **options: Any) -> Any:
        replaced = replace(self, *args, **options)
        return replaced.infer_objects() if replaced is not None else None

    pd.DataFrame.drop = drop_without_axis  # type: ignore[method-assign, assignment]
    pd.DataFrame.replace = replace_by_numbers  # type: ignore[method-assign]
    try:
        yield
    finally:
        pd.DataFrame.drop = drop  # type: ignore[method-assign]
        pd.DataFrame.replace = replace  # type: ignore[method-assign]


def _trace(file: RankFile) -> Trace:
    return open_trace(Path(file.location))
