"""`counters NCU_CSV [--run RUN]`: what kernels moved through DRAM and L2, as measured."""

import argparse
from pathlib import Path

from profiler_core.analysis.counters.report import CountersReport, counters_report
from profiler_core.answers.counters import counters_answer
from profiler_core.answers.encoding import write_json
from profiler_core.cli.table import n_more, table
from profiler_core.errors import NothingToAnalyse
from profiler_core.ingest.counters.reader import read_counters
from profiler_core.session.run import Run
from profiler_core.units import format_bytes, format_count, format_duration, format_share

_MOST_KERNELS = 20  # in the text; --json has all


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "counters", help="what Nsight Compute measured, kernel by kernel"
    )
    parser.add_argument(
        "path",
        type=Path,
        metavar="NCU_CSV",
        help="output of `ncu --csv --page raw`, or a run that holds one",
    )
    parser.add_argument(
        "--run", type=Path, metavar="RUN", help="run or trace whose kernels were measured"
    )
    parser.add_argument("--json", action="store_true", help="all numbers, see docs/json.md")


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    report = report_of(arguments.path, arguments.run)
    if arguments.json:
        write_json(counters_answer(report))
    else:
        print(_text(report))
    return 0


def report_of(path: Path, run: Path | None = None) -> CountersReport:
    """A file of counters, or the one of a run, joined with a trace where there is one.

    Raises:
        NothingToAnalyse: there are no counters, or the run has no trace to join them with.
    """
    opened = Run.open(path)
    if opened.files.counters is None:
        why = opened.counters.problems  # of a capture that tried
        raise NothingToAnalyse(
            f"{path} holds no counters of Nsight Compute. {' '.join(why)}".strip(),
            remedy="Pass what `ncu --csv --page raw` printed, or capture with --counters.",
        )
    counters = read_counters(opened.files.counters)
    ledger_side = (opened if run is None else Run.open(run)).material.ledger_side
    if run is not None and ledger_side is None:
        raise NothingToAnalyse(
            f"{run} has no trace to join the counters with.",
            remedy="Name the run or the trace whose kernels were measured.",
        )
    return counters_report(counters, ledger_side)


def _text(report: CountersReport) -> str:
    total = report.total
    lines = [
        f"{format_count(total.n)} kernels, {format_duration(total.time_ns)} one at a time"
        + (f", on {report.device_name}" if report.device_name else ""),
        f"DRAM: {format_bytes(total.dram_read_bytes)} read, "
        f"{format_bytes(total.dram_write_bytes)} written, "
        f"{format_bytes(total.dram_bytes_per_s)}/s",
    ]
    if report.matched_time_share is not None:
        lines.append(
            f"joined with the trace: {format_share(report.matched_time_share)} of its kernel time"
        )
    rows = [
        [
            kernel.name,
            format_count(kernel.measured.n),
            format_duration(kernel.measured.time_ns),
            format_bytes(kernel.measured.dram_read_bytes),
            format_bytes(kernel.measured.dram_write_bytes),
            format_bytes(kernel.estimated_bytes),
        ]
        for kernel in report.kernels[:_MOST_KERNELS]
    ]
    head = ["kernel", "n", "time", "DRAM read", "DRAM written", "by shapes"]
    lines += ["", table(head, rows)]
    if len(report.kernels) > _MOST_KERNELS:
        lines.append(n_more(len(report.kernels) - _MOST_KERNELS))
    lines += [f"note: {note}" for note in report.notes]
    return "\n".join(lines)
