"""`try WORKLOAD [--budget 20m]`: which setting is the fastest, measured, as code to paste."""

import argparse
import sys
from pathlib import Path

from profiler_core import home
from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.experiment.realised import predictions_of
from profiler_core.analysis.rows.experiment import saved_text
from profiler_core.analysis.wording.experiment import (
    breaks_lines,
    evidence,
    gain_text,
    headline,
    outcome,
    responsible,
    setting_name,
)
from profiler_core.analysis.wording.sentence import plain
from profiler_core.answers.encoding import write_json
from profiler_core.answers.experiment import experiment_answer
from profiler_core.capture.signals import cancel_flag
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
from profiler_core.cli.capture_progress import Printer
from profiler_core.cli.patch import try_patch
from profiler_core.cli.table import table
from profiler_core.errors import BadInput, Cancelled
from profiler_core.experiments.levers import LEVERS
from profiler_core.experiments.pasted import pasted
from profiler_core.experiments.request import (
    DEFAULT_BUDGET,
    OWN_OPTIONS,
    budget_seconds,
    for_trials,
    new_experiment,
    spec_of,
    with_budget,
)
from profiler_core.experiments.running import Runner, check_measured
from profiler_core.model.experiment import Experiment
from profiler_core.store.experiments import FILE, folder_of, read_experiment
from profiler_core.units import format_bytes, format_duration, format_ratio


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "try", help="which setting of torch.compile is the fastest for a model, measured",
        epilog=f"Levers: {', '.join(lever.name for lever in LEVERS)}.",
    )  # fmt: skip
    add_spec_arguments(parser, without=OWN_OPTIONS, may_lack_workload=True)
    parser.add_argument(
        "--budget", metavar="TIME", help=f"how long it may take (default: {DEFAULT_BUDGET})"
    )
    parser.add_argument(
        "--levers", metavar="NAME,…",
        help="what is tried: names of levers, LEVER=VALUE or KEY=VALUE of Inductor's (default: all "
        "that fit)",
    )  # fmt: skip
    parser.add_argument(
        "--from", dest="start", metavar="VARIANT", default="default",
        help="the setting that it starts from; each of its words is also tried left out",
    )  # fmt: skip
    parser.add_argument(
        "--patch", type=Path, metavar="FILE",
        help="try a change of your code instead: a unified diff, applied to a copy and timed in "
        "turns with the file as it is, both under --from",
    )  # fmt: skip
    parser.add_argument(
        "--resume", metavar="ID", help="go on with an experiment that was cancelled or killed"
    )
    parser.add_argument(
        "--experiment", metavar="ID", help=argparse.SUPPRESS
    )  # of a job: begin it, or go on with it
    parser.add_argument(
        "--out", type=Path, help="where the captures' folders are made (default: your library)"
    )
    parser.add_argument("--progress", type=Path, metavar="FILE", help="append JSON lines to FILE")
    parser.add_argument("--json", action="store_true", help="the result as JSON, see docs/json.md")


def run(arguments: argparse.Namespace) -> int:
    """Try settings until the budget is spent; SIGINT and SIGTERM end it and keep what is known.

    Raises:
        BadInput: the workload, a lever or the budget makes no sense.
        Cancelled: what was measured is kept.
        CaptureFailed: nothing could be measured.
    """
    out = (arguments.out or home.runs_directory()).expanduser().resolve()
    if arguments.patch is not None:
        return _try_patch(arguments, out)
    experiment = _asked_for(arguments, out)
    show, is_cancelled = Printer(sys.stderr, is_quiet=arguments.quiet).show, cancel_flag()
    ended = Runner(
        for_trials(spec_of(experiment)),
        experiment,
        out,
        progress_file=arguments.progress,
        listener=show,
        is_cancelled=is_cancelled,
    ).run()
    if arguments.json:
        write_json(experiment_answer(ended, pasted(ended)))
    else:
        print(text_of(ended))
    if ended.state == "cancelled":
        raise Cancelled(
            f"Cancelled; go on with try --resume {ended.experiment_id}", remedy="Resume it."
        )
    check_measured(ended)
    return 0


def _try_patch(arguments: argparse.Namespace, out: Path) -> int:
    if arguments.workload is None or arguments.resume or arguments.levers or arguments.budget:
        raise BadInput(
            "A patch is tried of a workload, once: it takes no levers, no budget and no ID.",
            remedy="Write try WORKLOAD --patch FILE, with --from VARIANT where you like.",
        )
    for name in OWN_OPTIONS:
        setattr(arguments, name, None)
    spec = spec_from_namespace(arguments)
    return try_patch(spec, arguments.patch, arguments.start, out, arguments)


def _asked_for(arguments: argparse.Namespace, out: Path) -> Experiment:
    """The experiment to begin, or to go on with."""
    resumed = arguments.resume or arguments.experiment
    if arguments.resume or (resumed and (folder_of(out, resumed) / FILE).exists()):
        experiment = read_experiment(out, resumed)
        if arguments.budget is not None:
            return with_budget(experiment, budget_seconds(arguments.budget))
        return experiment
    if arguments.workload is None:
        raise BadInput("No workload is given.", remedy="Name one, or pass --resume ID.")
    levers = tuple(name.strip() for name in (arguments.levers or "").split(",") if name.strip())
    for name in OWN_OPTIONS:
        setattr(arguments, name, None)
    return new_experiment(
        spec_from_namespace(arguments),
        budget_s=budget_seconds(arguments.budget or DEFAULT_BUDGET),
        levers=levers,
        start=arguments.start,
        experiment_id=arguments.experiment,
    )


def text_of(experiment: Experiment) -> str:
    """The result for a terminal: headline, trials, what is responsible, code."""
    leader = leader_of(experiment)
    rows = [
        [
            trial.variant,
            outcome(trial, leader, setting_name(batch.held_against(trial), experiment)),
            format_duration(trial.step_ns),
            "–" if trial.speedup is None else format_ratio(trial.speedup.ratio),
            ", ".join(map(gain_text, predictions_of(trial, batch, experiment)[:1])) or "–",
            saved_text(trial),
            format_duration(None if trial.first_call_s is None else trial.first_call_s * 1e9),
            format_bytes(trial.peak_bytes),
            ", ".join(breaks_lines(trial, batch.held_against(trial), experiment)) or "–",
        ]
        for batch in experiment.batches
        for trial in batch.trials
    ]
    heads = [
        "setting", "", "step", "speed-up", "predicted", "saved", "first call", "memory",
        "graph breaks",
    ]  # fmt: skip
    parts = [
        f"{plain(headline(experiment))}\n{evidence(experiment)}",
        table(heads, rows, n_text=2),
        "\n".join(responsible(experiment)),
        pasted(experiment),
        f"Not tried: {'; '.join(f'{u.lever}: {u.why}' for u in experiment.unfit)}."
        if experiment.unfit
        else "",
        f"Experiment {experiment.experiment_id}",
    ]
    return "\n\n".join(part for part in parts if part)
