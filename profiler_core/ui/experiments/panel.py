"""One experiment: how far it is, what is known by now, how to end it and to go on with it."""

import shlex
from html import escape

import msgspec
import streamlit as st

from profiler_core import home
from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.noise import MIN_ROUNDS
from profiler_core.analysis.rows.experiment import trials_table
from profiler_core.analysis.wording.experiment import evidence, headline, responsible
from profiler_core.analysis.wording.sentence import counted
from profiler_core.capture.round_plan import DEFAULT_ROUNDS
from profiler_core.door.asker import why_no_capture
from profiler_core.door.experimenting import (
    job_of,
    resume_experiment,
    start_with_enough_rounds,
)
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.experiments.pasted import command_with_enough_rounds, pasted
from profiler_core.figures.experiment import cost_figure, timed_trials
from profiler_core.jobs.service import Job
from profiler_core.model.experiment import Experiment
from profiler_core.owner_file import owner_of
from profiler_core.store.deletion import delete_experiment
from profiler_core.store.experiments import folder_of, read_experiment
from profiler_core.ui.capture.progress import elapsed, state_chip
from profiler_core.ui.charts import show_figure
from profiler_core.ui.headline import show_claim
from profiler_core.ui.jobs.stop import cancel_button
from profiler_core.ui.jobs.told import show_problem
from profiler_core.ui.links import plain_label
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.runs.trash import days_in_trash, offer_undo, report
from profiler_core.ui.sign_in.asker import asker
from profiler_core.ui.sign_in.guard import fragment
from profiler_core.ui.sign_in.visitor import visitor
from profiler_core.ui.style import colors
from profiler_core.ui.table import show_table
from profiler_core.units import format_duration

_REFRESH_S = 2.0


def experiment_panel(experiment_id: str) -> None:
    """Show it, and follow it while it runs.

    Raises:
        BadInput: there is no such experiment.
    """
    job = job_of(experiment_id)
    if job is None:  # a problem is the page's, not a part's
        read_experiment(home.runs_directory(), experiment_id)
    is_live = job is not None and job.is_live

    def follow() -> None:
        if st.query_params.get("experiment") != experiment_id:
            st.rerun()  # it was just deleted: the page goes on without it
        now = job_of(experiment_id)
        if is_live != (now is not None and now.is_live):
            st.rerun()  # it ended, or was resumed: stops or begins the refreshing
        try:
            experiment = read_experiment(home.runs_directory(), experiment_id)
        except BadInput:
            if now is None:
                raise
            # What another user of the system runs is taken in at its end.
            show_claim([], (now.spec.title,), [])
            _state(experiment_id, "finished", now)
            return
        _draw(experiment, now)

    fragment(follow, run_every=_REFRESH_S if is_live else None)()


def as_it_goes(experiment: Experiment, job: Job | None) -> Experiment:
    """What is said of it while a job goes on with it: until that first saves, its file is of then.

    Args:
        experiment: as its file says.
        job: the newest of it.
    """
    if job is None or not job.is_live:
        return experiment
    return msgspec.structs.replace(experiment, state="running", ended_by="")


def _draw(experiment: Experiment, job: Job | None) -> None:
    experiment = as_it_goes(experiment, job)
    facts = [experiment.title, experiment.device, f"torch {experiment.torch}"]
    shown_facts = [fact for fact in facts if fact and fact != "torch "]
    show_claim(shown_facts, headline(experiment), [evidence(experiment)])
    _state(experiment.experiment_id, experiment.state, job)
    if not experiment.trials:
        return
    leader = leader_of(experiment)
    command = command_with_enough_rounds(experiment)
    if command is not None:
        _offer_enough_rounds(experiment.experiment_id, command)
    elif leader.trial is not None:
        section("Take this")
        st.code(pasted(experiment), language="python", wrap_lines=True)
    if leader.trial is not None and not leader.is_baseline:
        words = ["fusionscope", "capture", *experiment.words]
        words += ["--variants", f"eager,{leader.trial.variant}"]
        st.code(shlex.join(words), language="bash", wrap_lines=True)
    sentences = responsible(experiment)
    if sentences:
        section("Which lever is responsible", "Each is measured by leaving it out.")
        show_notes(sentences)
    section("Each trial", "Timed in turns with eager and with the best setting so far.")
    show_table(trials_table(experiment, leader), "fs-sweep fs-trials")
    if len(timed_trials(experiment)) > 1:
        section(
            "Step time against compile time", "Further left for a short job, lower for a long one."
        )
        alt = "; ".join(
            f"{trial.variant}: step {format_duration(trial.step_ns)}, first call "
            f"{format_duration((trial.first_call_s or 0.0) * 1e9)}"
            for trial in timed_trials(experiment)
        )
        show_figure(cost_figure(experiment, leader, colors()), key="experiment_cost", alt=alt)
    if experiment.unfit:
        with st.expander(_unfit_title(len(experiment.unfit)), type="compact"):
            show_notes([f"{entry.lever}: {entry.why}." for entry in experiment.unfit])


def _offer_enough_rounds(key: str, command: str) -> None:
    """What leads on from an experiment of too few rounds: a new one with enough of them.

    Args:
        key: the experiment's id.
        command: for a shell.
    """
    section(
        "Time more rounds", f"It takes {MIN_ROUNDS} or more; {DEFAULT_ROUNDS} are the usual number."
    )
    if why_no_capture(asker()) is None:
        st.button(
            f"Try again with {DEFAULT_ROUNDS} rounds", key=f"fs_try_rounds_{key}",
            on_click=_try_again, args=(key,),
        )  # fmt: skip
    st.code(command, language="bash", wrap_lines=True)


def _try_again(experiment_id: str) -> None:
    # Asks again for the right: the role may have changed since it was drawn.
    try:
        st.query_params["experiment"] = start_with_enough_rounds(asker(), experiment_id)
    except FusionscopeError as error:
        st.toast(plain_label(error.problem))


def _unfit_title(n_levers: int) -> str:
    return f"{counted(n_levers, 'lever')} that {'does' if n_levers == 1 else 'do'} not fit"


def _state(key: str, state: str, job: Job | None) -> None:
    """The job's state with what can be done about it.

    Args:
        key: the experiment's id.
        state: as its file says.
        job: of it; None: there is none any more.
    """
    is_live = job is not None and job.is_live
    may = why_no_capture(asker()) is None
    with st.container(horizontal=True, vertical_alignment="center", key="fs_try_state"):
        chip = state_chip(job) if job is not None else escape(state)
        took = f" <span class=fs-note>{elapsed(job)}</span>" if job is not None else ""
        st.html(f"<div class=fs-job-head>{chip}{took}</div>", width="stretch")
        if is_live and job is not None:
            cancel_button(job)
        elif state not in ("finished", "running"):
            st.button(
                "Resume", key=f"fs_try_resume_{key}", on_click=_resume, args=(key,),
                disabled=not may,
            )  # fmt: skip
        if not is_live and state != "running" and _may_delete(key):
            with st.container(width="content"), st.popover("Delete", type="tertiary"):
                st.html(
                    "<p class=fs-note>It can be put back for "
                    f"{days_in_trash()}. Its captures stay, as runs.</p>"
                )
                st.button("Delete", key=f"fs_try_delete_{key}", on_click=_delete, args=(key,))
    if state == "running" and job is None:
        st.html("<p class=fs-note>A shell of this machine runs it.</p>")
    if job is None:
        return
    if job.is_live:
        latest = job.progress.latest
        text = job.waiting_for if job.state == "queued" else latest.text if latest else ""
        st.html(f"<p class=fs-note>{escape(text or 'Starting the processes.')}</p>")
    elif job.error:
        show_problem(job, error="", remedy="Resume it.")


def _may_delete(experiment_id: str) -> bool:
    who = visitor()
    if who is None:
        return False
    owner = owner_of(folder_of(home.runs_directory(), experiment_id))
    return who.may("delete") or (who.may("upload") and who.is_person(owner))


def _delete(experiment_id: str) -> None:
    who = visitor()
    if who is None or not _may_delete(experiment_id):  # the role may have changed meanwhile
        return
    try:
        title = read_experiment(home.runs_directory(), experiment_id).title
        offer_undo(delete_experiment(experiment_id, person=who.person), title)
        del st.query_params["experiment"]
    except FusionscopeError as error:
        report(f"{error.problem} {error.remedy}")


def _resume(experiment_id: str) -> None:
    # Asks again for the right: the role may have changed since it was drawn.
    try:
        resume_experiment(asker(), experiment_id)
    except FusionscopeError as error:
        st.toast(plain_label(error.problem))
