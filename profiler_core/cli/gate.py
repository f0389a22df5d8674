"""`gate BASELINE CANDIDATE --max-step-time +3%`: is the candidate still good enough?"""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from profiler_core import home
from profiler_core.analysis.gate.answer import (
    annotations,
    break_lines,
    junit_xml,
    summary_markdown,
)
from profiler_core.analysis.gate.judgement import Gate
from profiler_core.analysis.gate.limits import (
    DEFAULT,
    QUANTITIES,
    Limit,
    limits_of,
    value_text,
)
from profiler_core.answers.encoding import write_json
from profiler_core.answers.gate import GateAnswer, gate_answer, gate_of
from profiler_core.cli.history_module import check_files, history_module
from profiler_core.cli.reading_options import add_reading_options, apply_reading_options
from profiler_core.cli.runs import comparison_of
from profiler_core.cli.table import table
from profiler_core.cli.team_server import SERVER, TeamServer
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.session.folder import versions_in
from profiler_core.session.measured import required_measurement
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
        "--server", metavar="URL",
        help="of the team's server that keeps the baseline and judges (default for names: "
        "FUSIONSCOPE_SERVER); the token is FUSIONSCOPE_TOKEN",
    )  # fmt: skip
    parser.add_argument(
        "candidate", type=Path, nargs="?", metavar="CANDIDATE",
        help="a run; left out where BASELINE is the folder of a capture --against",
    )  # fmt: skip
    parser.add_argument(
        "--against-best", action="store_true",
        help="judge BASELINE, a run, against the fastest setting that try has found for its "
        "workload on this machine",
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
    server = _server(arguments)
    if server is not None:
        gate, answer, name = _judged_by(server, arguments, given)
    else:
        gate, answer, name = _judged_here(arguments, limits)
    if arguments.junit is not None:
        _write(arguments.junit, junit_xml(gate, name), "w")
    summary = arguments.summary or os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        _write(Path(summary), summary_markdown(gate, name), "a")
    if arguments.json:
        write_json(answer)
    else:
        print(_text(gate, answer.baseline, answer.candidate))
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for command in annotations(gate, str(Path.cwd())):
                print(command)
    return gate.exit_status


def _judged_here(
    arguments: argparse.Namespace, limits: list[Limit]
) -> tuple[Gate, GateAnswer, str]:
    """The judgement, its answer, and what the candidate is called."""
    if arguments.against_best:
        before, after = _best_before(arguments)
    elif arguments.candidate is None:
        before, after = versions_in(Path(arguments.baseline))
    else:
        before, after = _baseline(arguments.baseline), arguments.candidate
    for path in (before, after, *arguments.same):
        check_files(path)
    pair = comparison_of(before, [after]).pairs[0]
    repeats = [required_measurement(Run.open(path)) for path in arguments.same]
    gate = pair.gate(limits, repeats)
    record = pair.candidate.record
    return gate, gate_answer(gate, pair.labels), record.workload or record.name or pair.labels[1]


def _best_before(arguments: argparse.Namespace) -> tuple[Path, Path]:
    """The fastest run that experiments have found for a workload, and the run to be judged."""
    if arguments.candidate is not None:
        raise BadInput(
            "With --against-best one run is judged, and two are given.",
            remedy="Leave BASELINE or --against-best out.",
        )
    from profiler_core.experiments.best import best_run  # which brings the capture along

    after = Path(arguments.baseline)
    return best_run(home.runs_directory(), Run.open(after).record), after


def _server(arguments: argparse.Namespace) -> TeamServer | None:
    """Who judges, where it is not this machine: a run that lies here is judged here."""
    is_here = arguments.candidate is None or Path(arguments.baseline).exists()
    if arguments.server is None and (is_here or not os.environ.get(SERVER)):
        return None
    if is_here:
        raise BadInput(
            f"With --server, {arguments.baseline} would be the name of a baseline there, and a "
            "candidate is needed.",
            remedy="Leave --server out to judge runs of this machine.",
        )
    return TeamServer.of(arguments.server)


def _judged_by(
    server: TeamServer, arguments: argparse.Namespace, limits: Mapping[str, str]
) -> tuple[Gate, GateAnswer, str]:
    """As `_judged_here`; what lies on this machine is pushed first."""
    from profiler_core.cli.pushing import pushed_run  # late: it brings the database along

    wish = {
        "baseline": arguments.baseline,
        "candidate": pushed_run(server, str(arguments.candidate)),
        "limits": limits,
        "same": [pushed_run(server, str(path)) for path in arguments.same],
    }
    answer = server.send("POST", "/api/gate", GateAnswer, wish)
    return gate_of(answer), answer, answer.candidate


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
