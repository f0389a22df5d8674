"""Experiments that a person starts, ends or takes up: right and audit first, then the job."""

from dataclasses import dataclass

import msgspec

from profiler_core import home
from profiler_core.capture.spec import CaptureSpec
from profiler_core.door.asker import Asker, Refused, check_may_capture
from profiler_core.door.audited import LONGEST_TITLE, for_code_of, owner_for, whose, write_down
from profiler_core.door.deeds import stop
from profiler_core.door.interpreters import check_word, check_workload, with_listed_interpreters
from profiler_core.errors import BadInput
from profiler_core.experiments.request import (
    budget_seconds,
    new_experiment,
    spec_of,
    with_enough_rounds,
    words_of,
    words_to_try,
)
from profiler_core.jobs import service as jobs
from profiler_core.jobs.runner import check_runner
from profiler_core.model.experiment import Experiment
from profiler_core.owner_file import owner_of, write_owner
from profiler_core.run_directory import IMPORTED
from profiler_core.settings import settings
from profiler_core.store.experiments import folder_of, read_experiment, write_experiment
from profiler_core.worker.process import module_words

KIND = "try"


@dataclass(frozen=True)
class Wish:
    """What is asked for: levers (empty: all), where it starts from, and the finding behind it."""

    budget: str
    levers: tuple[str, ...] = ()
    start: str = "default"
    finding: str = ""
    source: tuple[str, ...] = ()


def start_experiment(asker: Asker | None, spec: CaptureSpec, wish: Wish) -> str:
    """Submit an experiment as a job; returns the experiment's id.

    Raises:
        Refused: this person may not capture, or not with this interpreter.
        BadInput: a lever, the budget or the setting makes no sense.
        HistoryUnavailable: the audit cannot be written; nothing starts then.
        CaptureFailed: the supervisor does not start.
    """
    asker = check_may_capture(asker)
    check_workload(spec)
    experiment = new_experiment(
        spec,
        budget_s=budget_seconds(wish.budget),
        levers=wish.levers,
        start=wish.start,
        finding=wish.finding,
        source=wish.source,
    )
    _submit(asker, experiment)
    return experiment.experiment_id


def resume_experiment(asker: Asker | None, experiment_id: str) -> None:
    """Submit an experiment that was cancelled or ended by its machine once more.

    Raises:
        Refused: this person may not capture, or it is somebody else's.
        BadInput: there is no such experiment, or it runs.
    """
    asker = check_may_capture(asker)
    experiment = _own(asker, experiment_id)
    job = job_of(experiment_id)
    if (job is not None and job.is_live) or experiment.state == "running":
        raise BadInput(f"{experiment.title} is on its way.", remedy="Wait for its end.")
    if settings().runner_user is not None:  # it could neither read the folder nor write it
        raise BadInput(
            "Captures here run as another user of the system, who cannot go on with an experiment.",
            remedy="Start it anew.",
        )
    _check_written_here(experiment_id)
    _submit(asker, experiment)


def start_with_enough_rounds(asker: Asker | None, experiment_id: str) -> str:
    """Submit a new experiment that times what an earlier one did, with enough rounds to tell.

    Returns:
        The id of the new one.

    Raises:
        Refused: this person may not capture, or it is somebody else's.
        BadInput: there is no such experiment, or another user of the system wrote it down.
    """
    asker = check_may_capture(asker)
    experiment = _own(asker, experiment_id)
    _check_written_here(experiment_id)
    again = with_enough_rounds(experiment)
    _submit(asker, again)
    return again.experiment_id


def _own(asker: Asker, experiment_id: str) -> Experiment:
    experiment = read_experiment(home.runs_directory(), experiment_id)
    owner = owner_of(folder_of(home.runs_directory(), experiment_id))
    if owner not in (None, owner_for(asker)) and "delete" not in asker.deeds:
        raise Refused("This experiment is somebody else's.", remedy="Start one of your own.")
    return experiment


def _check_written_here(experiment_id: str) -> None:
    if (folder_of(home.runs_directory(), experiment_id) / IMPORTED).exists():
        raise BadInput(  # of a time when `runner_user` was set
            "Another user of the system wrote down what this experiment runs.",
            remedy="Start it anew.",
        )


def cancel_experiment(asker: Asker | None, experiment_id: str) -> None:
    """Ask its job to stop; what was measured is kept.

    Raises:
        Refused: this person may not, or it is somebody else's.
        BadInput: there is no such experiment, or it has ended.
    """
    asker = check_may_capture(asker)
    job = job_of(experiment_id)
    if job is None:
        raise BadInput(f"{experiment_id} has ended already.", remedy="Look at its result.")
    stop(asker, job, f"The experiment {experiment_id}")


def job_of(experiment_id: str) -> jobs.Job | None:
    """The newest job of an experiment; None: it was started from a shell, or long ago."""
    return next((job for job in jobs.jobs(kind=KIND) if job.spec.subject == experiment_id), None)


def _submit(asker: Asker, experiment: Experiment) -> None:
    runner = settings().runner_user
    check_runner(runner)
    out, owner = home.runs_directory(), owner_for(asker)
    # Anew when it is resumed: the list may have changed, and whose code wrote the file is unknown.
    spec = with_listed_interpreters(spec_of(experiment), asker)
    check_workload(spec)
    experiment = msgspec.structs.replace(experiment, words=tuple(words_of(spec)))
    words = [
        *words_to_try(experiment),
        f"--experiment={experiment.experiment_id}",
    ]
    for word in words:
        check_word(word)
    title = f"Try settings of {experiment.title}"[:LONGEST_TITLE]
    write_down(asker, "try", title, device=spec.device, python=spec.python)
    if runner is None:  # that user makes the folder itself, and it is taken in at the end
        write_experiment(out, experiment)
        folder = folder_of(out, experiment.experiment_id)
        if owner is not None and owner_of(folder) is None:  # an admin who resumes it takes it not
            write_owner(folder, owner)
    jobs.submit(
        module_words("profiler_core", "try", *words, "--out", "{out}", "--progress", "{progress}"),
        kind=KIND,
        title=title,
        device=spec.device,
        environment=for_code_of(asker),
        **whose(asker),
        out=out,
        subject=experiment.experiment_id,
        runner=runner,
        is_own_machine=asker.is_own_machine,
    )
