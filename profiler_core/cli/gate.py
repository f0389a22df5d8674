"""`gate BASELINE CANDIDATE --max-step-time +3%`: is the candidate still good enough?"""

import argparse
import os
from pathlib import Path

from profiler_core.analysis.gate.answer import (
    annotations,
    break_lines,
    junit_xml,
    summary_markdown,
)
from profiler_core.analysis.gate.judgement import Gate
from profiler_core.analysis.gate.limits import DEFAULT, QUANTITIES, limits_of, value_text
from profiler_core.answers.encoding import write_json
from profiler_core.answers.gate import gate_answer
from profiler_core.cli.history_module import history_module
from profiler_core.cli.reading_options import add_reading_options, apply_reading_options
from profiler_core.cli.runs import comparison_of
from profiler_core.cli.table import table
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.session.folder import versions_in
from profiler_core.session.run import Run

_IN_HELP = DEFAULT.replace("%", "%%")  # argparse fills in %(...)s in its help


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "gate",
        help="is a candidate within its limits",
        epilog="A limit with a sign is a change against the baseline (+3%, +100us, +2), one "
        "without a sign bounds the candidate (5ms, 1.2GB). Exit status: 0 pass, 1 regression, "
        "2 usage, 3 cannot judge, 4 the candidate does not compile.",
    )
    parser.add_argument(
        "baseline", metavar="BASELINE", help="a run, or the name of a kept baseline"
    )
    parser.add_argument(
        "candidate", type=Path, nargs="?", metavar="CANDIDATE",
        help="a run; left out where BASELINE is the folder of a capture --against",
    )  # fmt: skip
    for quantity in QUANTITIES:
        parser.add_argument(
            quantity.option,
            dest=quantity.key,
            metavar="LIMIT",
            help=quantity.label.lower()
            + (f" (default where no limit is given: {_IN_HELP})" if _is_default(quantity) else ""),
        )
    parser.add_argument(
        "--same", type=Path, action="append", default=[], metavar="RUN",
        help="a further run of the baseline's code: what it differs by is noise; may be repeated",
    )  # fmt: skip
    parser.add_argument("--junit", type=Path, metavar="FILE", help="the answer as JUnit XML")
    parser.add_argument(
        "--summary", type=Path, metavar="FILE",
        help="append a table in Markdown (default: $GITHUB_STEP_SUMMARY where it is set)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the answer, see docs/json.md")
    add_reading_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Judge, write what is asked for, and exit by the answer.

    Raises:
        BadInput: a limit or a run cannot be read, or a file cannot be written.
    """
    apply_reading_options(arguments)
    given = {q.key: text for q in QUANTITIES if (text := getattr(arguments, q.key)) is not None}
    limits = limits_of(given)
    if arguments.candidate is None:
        before, after = versions_in(Path(arguments.baseline))
    else:
        before, after = _baseline(arguments.baseline), arguments.candidate
    pair = comparison_of(before, [after]).pairs[0]
    gate = pair.gate(limits, [Run.open(path).required_measurement() for path in arguments.same])
    baseline, candidate = pair.labels
    record = pair.candidate.record
    name = record.workload or record.name or candidate
    if arguments.junit is not None:
        _write(arguments.junit, junit_xml(gate, name), "w")
    summary = arguments.summary or os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        _write(Path(summary), summary_markdown(gate, name), "a")
    if arguments.json:
        write_json(gate_answer(gate, pair.labels))
    else:
        print(_text(gate, baseline, candidate))
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for command in annotations(gate, str(Path.cwd())):
                print(command)
    return gate.exit_status


def _is_default(quantity: object) -> bool:
    return quantity is QUANTITIES[0]


def _baseline(name: str) -> Path:
    """The path of the run; what is no path is the name of a baseline that the history keeps."""
    path = Path(name)
    if path.exists():
        return path
    history = history_module(f"{name} is no run, and a baseline of that name", "Pass a path")
    try:
        return Path(history.directory_of(history.baseline(name)))
    except FusionscopeError as error:
        raise BadInput(
            f"{name} is neither a run nor a baseline that can be opened: {error.problem}",
            remedy="Pass the path of a run, or keep one as a baseline of this name.",
        ) from error


def _write(path: Path, text: str, mode: str) -> None:
    try:
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be written: {error.strerror}.", remedy="Choose another place."
        ) from error


def _text(gate: Gate, baseline: str, candidate: str) -> str:
    rows = [
        [
            check.quantity.label,
            check.outcome,
            value_text(check.quantity.kind, check.baseline),
            value_text(check.quantity.kind, check.candidate),
            check.limit,
        ]
        for check in gate.checks
    ]
    parts = [gate.outcome.upper(), table(["", "", baseline, candidate, "limit"], rows, n_text=2)]
    parts.append("\n".join(f"{c.quantity.label}: {c.sentence}" for c in gate.checks))
    if gate.breaks:
        parts.append("\n".join(break_lines(gate)))
    if gate.noise is not None:
        turns = "timed in turns" if gate.interleaved else "not timed in turns"
        parts.append(f"Noise floor of the step time {gate.noise.floor * 100:.1f} %, {turns}.")
    if gate.notes:
        parts.append("\n".join(gate.notes))
    return "\n\n".join(parts)
