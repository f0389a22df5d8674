"""`ranks PLACE [MORE…]`: who waits for whom among the ranks of a job, and what compiling changed.

A place is a run of several ranks, a folder, a zip or a URL of rank traces, or a whole capture.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from profiler_core import extras
from profiler_core.analysis.job_step import profiled_job_step, unprofiled_job_step
from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.rows.ranks import (
    COMPILING_HEADS,
    alike_rows,
    collective_rows,
    compiling_rows,
    job_step_rows,
    measure_rows,
)
from profiler_core.analysis.rows.table import Cell
from profiler_core.analysis.wording.ranks import (
    evidence,
    headline,
    slow_clock,
    slowest_link,
    without_profiler,
)
from profiler_core.analysis.wording.sentence import counted, plain
from profiler_core.answers.encoding import write_json
from profiler_core.answers.ranks import ranks_answer
from profiler_core.cli.table import n_more, table
from profiler_core.errors import FusionscopeError
from profiler_core.ranks.hta.answer import HtaAnswer
from profiler_core.ranks.hta.process import hta_answer
from profiler_core.session.job import PlacedJob, compared, jobs_at
from profiler_core.session.rank_compiling import compiling_of
from profiler_core.session.reading import InProcess
from profiler_core.terminal_text import rewrite_line
from profiler_core.units import (
    format_duration,
    format_share,
)

_SHOWN_RANKS = 16


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("ranks", help="who waits for whom among the ranks of a job")
    parser.add_argument("places", nargs="+", metavar="DIRECTORY_OR_ZIP_OR_URL")
    parser.add_argument("--baseline", metavar="PLACE", help="the job to compare with")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="reduce on this Dask cluster, as tcp://host:8786"
    )
    parser.add_argument(
        "--processes", type=int, metavar="N", help="processes on this machine; one a CPU"
    )
    parser.add_argument(
        "--hta", action="store_true", help="ask HolisticTraceAnalysis too, beside our numbers"
    )
    parser.add_argument("--json", action="store_true", help="all numbers, see docs/json.md")


def run(arguments: argparse.Namespace) -> int:
    """Print it. Returns 3 where no rank could be read, else 0."""
    places = [arguments.baseline, *arguments.places] if arguments.baseline else arguments.places
    reading = InProcess(arguments.scheduler, arguments.processes)
    jobs = [
        job
        for location in places
        for job in jobs_at(
            location,
            reading
            if arguments.json or arguments.quiet
            else replace(reading, progress=_Shown(location)),
        )
    ]
    hta = _hta_result(jobs) if arguments.hta else None
    if arguments.json:
        write_json(ranks_answer(jobs, hta))
    else:
        print("\n\n".join(map(_text, jobs)))
        if len(jobs) > 1:
            print("\n" + _comparison_text(jobs))
        if hta is not None:
            print("\n" + _hta_text(hta))
    return 0 if all(job_read.job.ranks for job_read in jobs) else 3


def _hta_result(jobs: list[PlacedJob]) -> HtaAnswer:
    """HTA on the last job, against the first where there are several."""
    last = jobs[-1]
    baseline = (jobs[0].source, jobs[0].rank_files) if len(jobs) > 1 else None
    try:
        extras.require("ranks", "HTA's second opinion")
        return hta_answer(last.source, last.rank_files, baseline)
    except FusionscopeError as error:  # our own numbers stand
        return HtaAnswer(None, f"{error.problem} {error.remedy}", (), ())


def _hta_text(answer: HtaAnswer) -> str:
    rows = [
        [
            analysis.title,
            analysis.status,
            figure.label,
            *figure.texts,
        ]
        for analysis in answer.analyses
        for figure in analysis.figures
    ]
    source = answer.version or answer.problem or ""
    sentences = [
        analysis.sentence
        for analysis in answer.analyses
        if analysis.status in ("failed", "differs")
    ]
    head = ["second opinion", "", "", "HTA", "ours"]
    return "\n".join([source, table(head, rows, n_text=3), *dict.fromkeys(sentences)])


class _Shown:
    """Progress on one line of the terminal; nothing is printed without a terminal."""

    def __init__(self, source: str) -> None:
        self._place = source

    def __call__(self, n_read: int, total: int) -> None:
        if sys.stderr.isatty() and total > 1:
            end = "\n" if n_read == total else ""
            rewrite_line(sys.stderr, f"{self._place}: {n_read} of {total} ranks{end}")


def _text(placed: PlacedJob) -> str:
    job = placed.timed
    texts = evidence(job), slow_clock(job.critical), slowest_link(job), without_profiler(job)
    verdict = " ".join([f"{plain(headline(job))}.", *filter(None, texts)])
    rows = [
        [
            f"rank {row.rank}",
            *(format_duration(value) for value in (
                row.step_ns, row.compute_ns, row.exposed_communication_ns, row.exposed_copy_ns,
                row.idle_ns, row.communication_ns,
            )),
            format_share(row.overlap_share),
            *(
                format_duration(None if job.wait_share is None else waited_ns)
                for waited_ns in (row.waited_ns, row.made_wait_ns)
            ),
        ]
        for row in sorted(job.ranks, key=lambda row: -row.made_wait_ns)[:_SHOWN_RANKS]
    ]  # fmt: skip
    head = ["", "step", "compute", "exposed comm.", "exposed copy", "idle", "communication",
            "overlap", "waited", "made others wait"]  # fmt: skip
    size = f"{counted(len(job.ranks), 'rank')} · {counted(job.n_steps, 'step')}"
    parts = [f"{placed.source} · {size}\n{verdict}"]
    if rows:
        parts.append(table(head, rows))
    if len(job.ranks) > len(rows):
        parts.append(n_more(len(job.ranks) - len(rows)))
    if len(job.ranks) > 2:
        parts.append(_alike(job))
    if job.critical is not None:
        parts.append(_job_step(job.critical, job.unprofiled_step_ns))
    if job.collectives:
        parts.append(_collectives(job))
    compiling = compiling_rows(compiling_of(placed)[:_SHOWN_RANKS])
    if compiling:
        parts.append(table(list(COMPILING_HEADS), [[cell.text for cell in r] for r in compiling]))
    if job.notes:
        parts.append("\n".join(job.notes))
    return "\n\n".join(parts)


def _alike(job: Job) -> str:
    head = ["ranks that behave alike", "ranks", "step", "compute", "exposed comm.", "idle",
            "waited", "made others wait"]  # fmt: skip
    return table(head, [[cell.text for cell in row] for row in alike_rows(job.alike)])


def _job_step(path: CriticalPath, unprofiled_ns: float | None) -> str:
    steps = [profiled_job_step(path)]
    if unprofiled_ns is not None:
        steps.append(unprofiled_job_step(path, unprofiled_ns))
    rows = job_step_rows(steps)
    head = [f"along rank {path.rank}", *(step.clock for step in steps)]
    return table(head, [[cell.text for cell in row] for row in rows])


def _collectives(job: Job) -> str:
    head = ["per step and rank", "calls", "bytes", "time", "without waiting", "waiting",
            "bus bandwidth"]  # fmt: skip
    return table(head, [[cell.text for cell in row] for row in collective_rows(job)])


def _comparison_text(jobs: list[PlacedJob]) -> str:
    names = [Path(placed.source).name or placed.source for placed in jobs]
    rows = measure_rows(compared(jobs))
    return table(["", *names], [[_in_line(cell) for cell in row] for row in rows])


def _in_line(cell: Cell) -> str:
    """A value with its change."""
    change = cell.change.text if cell.change is not None else ""
    return f"{cell.text} ({change})" if change else cell.text
