"""`runs …`: the history of runs: list, import, export, tag, keep baselines, delete."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from profiler_core.answers.encoding import write_json
from profiler_core.answers.history import (
    BaselinesAnswer,
    DeletedAnswer,
    DeletionAnswer,
    ExportedRunAnswer,
    ImportAnswer,
    LeavingExperiment,
    LeavingRun,
    ReconcileAnswer,
    RetentionAnswer,
    RulesAnswer,
    RuleTotalAnswer,
    RunsAnswer,
    TrashAnswer,
    VerifiedRun,
    VerifyAnswer,
    run_answer,
)
from profiler_core.answers.record import Answer
from profiler_core.cli import pushing
from profiler_core.cli.history_review import add_arguments, list_findings, list_regressions
from profiler_core.cli.history_text import runs_table, trash_table
from profiler_core.cli.team_server import TeamServer
from profiler_core.errors import BadInput
from profiler_core.export.whole_file import written_aside
from profiler_core.model.history import RecordedRun
from profiler_core.settings import settings
from profiler_core.store import history
from profiler_core.store.deletion import delete_experiment
from profiler_core.store.experiments import is_experiment_id
from profiler_core.units import format_bytes

# The answer, what the terminal shows, and the exit status where it is not 0.
Action = Callable[[argparse.Namespace], tuple[Answer, str] | tuple[Answer, str, int]]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the actions and their arguments."""
    parser = subparsers.add_parser("runs", help="the history: list, import, tag, baselines, delete")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, does: Action, help_text: str) -> argparse.ArgumentParser:
        parser = actions.add_parser(name, help=help_text, description=help_text)
        parser.add_argument("--json", action="store_true", help="see docs/json.md")
        parser.set_defaults(does=does)
        return parser

    listed = action("list", _list, "recorded runs, the newest first")
    for name in history.FILTERS:
        listed.add_argument(
            f"--{name}", action="append", default=[], metavar="VALUE",
            help=f"only runs with this {name}; may be repeated",
        )  # fmt: skip
    listed.add_argument("--commit", default="", help="the beginning of a commit's id")
    listed.add_argument(
        "--since", default="", metavar="DATE", help="only what was made since, as 2026-11-21"
    )
    listed.add_argument("--server", metavar="URL", help="of a team's server, whose runs are listed")
    listed.add_argument("--limit", type=int, default=50, help="runs, the newest first")

    received = action("import", _import, "record a run, a capture's folder or a .zip")
    received.add_argument("path", type=Path, nargs="+", metavar="PATH")
    received.add_argument(
        "--tag", action="append", default=[], help="put it on each; may be repeated"
    )

    push = action("push", pushing.push, "send runs to a team's server")
    push.add_argument(
        "run", nargs="+", metavar="RUN", help="a run, a capture's folder, a .zip, or a RUN_ID"
    )
    pull = action("pull", pushing.pull, "fetch runs from a team's server, and record them")
    pull.add_argument("run", nargs="+", metavar="RUN_ID")
    pull.add_argument("-o", "--output", type=Path, metavar="FILE", help="only write one as a .zip")
    for asks in (push, pull):
        asks.add_argument(
            "--server", metavar="URL",
            help="of the team's server (default: FUSIONSCOPE_SERVER; the token: FUSIONSCOPE_TOKEN)",
        )  # fmt: skip

    export = action("export", _export, "one run as one .zip")
    export.add_argument("run", metavar="RUN_ID")
    export.add_argument("-o", "--output", type=Path, help="default: RUN_ID.zip here")

    for name, does, argument_help in (
        ("tag", _tag, "put tags on a run"),
        ("untag", _untag, "take tags off a run"),
    ):
        marked = action(name, does, argument_help)
        marked.add_argument("run", metavar="RUN_ID")
        marked.add_argument("tag", nargs="+")

    baseline = action("baseline", _baseline, "list the baselines, or keep a run under a name")
    baseline.add_argument("name", nargs="?", metavar="NAME")
    baseline.add_argument("run", nargs="?", metavar="RUN_ID_OR_DIRECTORY")
    baseline.add_argument("--note", default="", help="why it is the baseline")
    baseline.add_argument("--remove", action="store_true", help="forget NAME; the run stays")

    deleted = action("delete", _delete, "move runs with their numbers and files into the trash")
    deleted.add_argument(
        "run", nargs="+", metavar="RUN_ID", help="or the id of an experiment, whose captures stay"
    )

    trash = action("trash", _trash, "what was deleted, and can be put back")
    trash.add_argument("--empty", action="store_true", help="delete it for good")

    restored = action("restore", _restore, "put back what was deleted, with what went with it")
    restored.add_argument("run", metavar="RUN_ID", help="or a deletion's id, as `trash` lists it")

    verify = action("verify", _verify, "hash the files of runs anew; exit status 1: some changed")
    verify.add_argument("run", nargs="*", metavar="RUN_ID")
    verify.add_argument("--all", action="store_true", help="every run that is recorded")

    retention = action("retention", _retention, "which files are outdated; delete them")
    retention.add_argument("--keep-captures", type=int, metavar="N", help="newest of a workload")
    retention.add_argument("--keep-days", type=int, metavar="N", help="younger captures")
    retention.add_argument("--keep-uploads-days", type=int, metavar="N", help="younger uploads")
    deed = retention.add_mutually_exclusive_group()
    deed.add_argument("--dry-run", action="store_true", help="only list, which is the default")
    deed.add_argument("--apply", action="store_true", help="delete; without it only listed")

    add_arguments(
        action("findings", list_findings, "findings of reviews: owner, state, date, gain"),
        action("regressions", list_regressions, "runs that became slower than the run before"),
    )

    action("reconcile", _reconcile, "record what lies here and is not in the history yet")


def run(arguments: argparse.Namespace) -> int:
    """Do it."""
    does: Action = arguments.does
    answer, text, *status = does(arguments)
    if arguments.json:
        write_json(answer)
    elif text:
        print(text)
    return status[0] if status else 0


def _list(arguments: argparse.Namespace) -> tuple[Answer, str]:
    chosen: dict[str, Any] = {name: tuple(getattr(arguments, name)) for name in history.FILTERS}
    if arguments.server is not None:
        chosen |= {name: getattr(arguments, name) for name in ("commit", "since")}
        asked = {name: value for name, value in chosen.items() if value}
        answer = TeamServer.of(arguments.server).get(
            "/api/runs", RunsAnswer, {**asked, "limit": arguments.limit}
        )
        return answer, runs_table(answer.runs)
    run_filter = history.RunFilter(**chosen, commit=arguments.commit, since=arguments.since)
    recorded = history.listed_runs(run_filter, limit=arguments.limit)
    return RunsAnswer(tuple(map(run_answer, recorded))), runs_table(recorded)


def _import(arguments: argparse.Namespace) -> tuple[Answer, str]:
    recorded: list[RecordedRun] = []
    notes: list[str] = []
    for path in arguments.path:
        runs, file_notes = history.receive(path, tags=tuple(arguments.tag))
        recorded += runs
        notes += file_notes
    text = "\n".join([runs_table(recorded), *notes])
    return ImportAnswer(tuple(map(run_answer, recorded)), tuple(notes)), text


def _export(arguments: argparse.Namespace) -> tuple[Answer, str]:
    directory = history.directory_of(history.run(arguments.run))
    target: Path = arguments.output or Path(f"{arguments.run.replace('/', '-')}.zip")
    with written_aside(target) as aside, aside.open("wb") as sink:
        for block in history.packed(directory):
            sink.write(block)
    size = target.stat().st_size
    return ExportedRunAnswer(arguments.run, target, size), str(target)


def _tag(arguments: argparse.Namespace) -> tuple[Answer, str]:
    history.tag(arguments.run, *arguments.tag)
    return RunsAnswer((run_answer(history.run(arguments.run)),)), ""


def _untag(arguments: argparse.Namespace) -> tuple[Answer, str]:
    history.untag(arguments.run, *arguments.tag)
    return RunsAnswer((run_answer(history.run(arguments.run)),)), ""


def _baseline(arguments: argparse.Namespace) -> tuple[Answer, str]:
    if arguments.remove:
        if arguments.name is None:
            raise BadInput("No baseline was named.", remedy="Pass its name with --remove.")
        history.remove_baseline(arguments.name)
    elif arguments.run is not None:
        run_id = arguments.run
        if (Path(run_id) / "run.json").is_file():
            run_id = history.record(Path(run_id)).run_id
        history.set_baseline(arguments.name, run_id, note=arguments.note)
    baselines = history.baselines()
    if arguments.name is not None and not arguments.remove and arguments.run is None:
        history.baseline(arguments.name)
        baselines = tuple(baseline for baseline in baselines if baseline.name == arguments.name)
    text = "\n".join(
        f"{baseline.name}  {baseline.run_id}  {baseline.set_at}  {history.name_of(baseline.person)}"
        for baseline in baselines
    )
    return BaselinesAnswer(baselines), text or "No baseline is kept yet."


def _delete(arguments: argparse.Namespace) -> tuple[Answer, str]:
    back = "RUN_ID"
    for run_id in arguments.run:
        if is_experiment_id(run_id):
            back = delete_experiment(run_id)
        else:
            history.delete_run(run_id)
    days = settings().keep_trash_days
    text = f"Deleted {', '.join(arguments.run)}. For {days} days: runs restore {back}."
    return DeletedAnswer(tuple(arguments.run)), text


def _trash(arguments: argparse.Namespace) -> tuple[Answer, str]:
    deletions = history.trash_contents()
    text = trash_table(deletions)
    if arguments.empty:
        for deletion in deletions:
            history.empty(deletion.deletion_id)
        n_bytes = sum(deletion.n_bytes for deletion in deletions)
        text = f"{len(deletions)} deletions went for good, {format_bytes(n_bytes)}."
    return _trash_answer(deletions, emptied=arguments.empty), text


def _restore(arguments: argparse.Namespace) -> tuple[Answer, str]:
    deletion = history.restore(arguments.run)
    text = f"Put back: {', '.join(deletion.run_ids) or deletion.title}."
    return _trash_answer((deletion,), restored=True), text


def _trash_answer(
    deletions: tuple[history.Deletion, ...], *, emptied: bool = False, restored: bool = False
) -> TrashAnswer:
    return TrashAnswer(tuple(map(DeletionAnswer.of, deletions)), emptied, restored)


def _verify(arguments: argparse.Namespace) -> tuple[Answer, str, int]:
    if not arguments.run and not arguments.all:
        raise BadInput("No run was named.", remedy="Pass run ids, or --all.")
    runs = (
        history.runs(limit=history.n_runs() or 1)
        if arguments.all
        else tuple(history.run(run_id) for run_id in arguments.run)
    )
    verified = tuple(VerifiedRun.of(outcome) for outcome in history.verified(runs))
    lines = [f"{each.run_id}: {each.outcome}. {each.sentence}".rstrip() for each in verified]
    n_changed = sum(each.outcome == "changed" for each in verified)
    lines.append(f"{len(verified)} runs, {n_changed} changed.")
    return VerifyAnswer(verified), "\n".join(lines), 1 if n_changed else 0


def _retention(arguments: argparse.Namespace) -> tuple[Answer, str]:
    rules = history.configured_rules()
    numbers = (arguments.keep_captures, arguments.keep_days, arguments.keep_uploads_days)
    if any(number is not None for number in numbers):
        rules = history.Rules(*numbers)
    if any(number is not None and number < 1 for number in numbers):  # settings.toml says it itself
        raise BadInput("A rule keeps at least 1.", remedy="Pass 1 or more.")
    if rules == history.Rules():
        raise BadInput("No rule says what may go.", remedy="Pass --keep-captures or --keep-days.")
    plan = history.planned(rules)
    outdated = [removal.run for removal in plan.removals]
    totals = history.totals(plan)  # before they go
    n_deleted = history.apply(plan) if arguments.apply else 0
    outcome = (
        f"The files of {n_deleted} runs were deleted; their numbers are kept. "
        "To put them back: runs restore RUN_ID."
        if arguments.apply
        else f"The files of {len(outdated)} runs may go; --apply deletes them."
    )
    reasons = [f"{removal.run.run_id}: {removal.reason}." for removal in plan.removals]
    listed = [runs_table(outdated), *reasons] if outdated else []
    listed += [f"{old.experiment_id}: {old.reason}." for old in plan.experiments]
    answer = RetentionAnswer(
        RulesAnswer.of(rules),
        tuple(LeavingRun.of(removal.run, removal) for removal in plan.removals),
        plan.notes,
        tuple(map(RuleTotalAnswer.of, totals)),
        plan.n_marked,
        n_deleted,
        tuple(map(LeavingExperiment.of, plan.experiments)),
    )
    kinds = {"capture": "captures", "upload": "uploads"}
    listed += [
        f"{total.rule}: {total.n_captures} {kinds[total.origin]}, {total.n_runs} runs, "
        f"{format_bytes(total.n_bytes)}."
        for total in totals
    ]
    return answer, "\n".join([*listed, *plan.notes, outcome])


def _reconcile(_: argparse.Namespace) -> tuple[Answer, str]:
    reconciled = history.reconcile()
    lines = [f"{len(reconciled.recorded)} runs were recorded."]
    lines += [f"{directory}: {sentence}" for directory, sentence in reconciled.problems]
    return ReconcileAnswer.of(reconciled), "\n".join(lines)
