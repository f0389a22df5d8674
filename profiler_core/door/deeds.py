"""The processes that a person may start; each function checks the right, audits and starts."""

from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from profiler_core import home
from profiler_core.capture.elsewhere.host import called, host_words
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.sweep.points import captures_of
from profiler_core.door.asker import AGENT, Asker, Refused, check_may_capture, why_no_capture
from profiler_core.door.audited import LONGEST_TITLE, for_code_of, owner_for, whose, write_down
from profiler_core.door.hosts import host_for, with_its_interpreter
from profiler_core.door.interpreters import (
    check_workload,
    interpreter_for,
    with_listed_interpreters,
)
from profiler_core.door.workload_names import workload_of
from profiler_core.errors import BadInput
from profiler_core.jobs import service as jobs
from profiler_core.jobs.directory import MEASURING
from profiler_core.jobs.room import needed_to_read, size_of
from profiler_core.jobs.runner import check_runner
from profiler_core.owner_file import owner_of
from profiler_core.settings import settings
from profiler_core.store import incoming
from profiler_core.worker.environment import Need
from profiler_core.worker.process import module_words, run_module
from profiler_core.worker.worker import Worker

_ANSWERING = "profiler_core.agents.answering"  # a stage above: only its process knows it
_ABOUT_RUNS = ("run", "baseline", "candidate")  # of what agents ask, for the audit
_VERBS = {"report": "Report", "export": "Merged trace"}
_KEPT_FILES_BYTES = 2_000_000_000  # of one person's files on page Jobs; older ones go


def start_capture(asker: Asker | None, spec: CaptureSpec, host_name: str = "") -> str:
    """Submit the capture as a job; returns its id.

    Args:
        asker: who asks.
        spec: what is captured.
        host_name: the machine that it runs on, by its name in the settings or its address; empty:
            this one.

    Raises:
        Refused: this person may not start one, or not with this interpreter or on that machine.
        BadInput: there is no such machine.
        HistoryUnavailable: the audit cannot be written; nothing starts then.
        CaptureFailed: the supervisor does not start.
    """
    asker = check_may_capture(asker)
    check_workload(spec)
    host = host_for(host_name, asker)
    if host is None:
        spec = with_listed_interpreters(spec, asker)
    else:
        spec = with_its_interpreter(spec, host, asker)
    runner = settings().runner_user
    check_runner(runner)
    title = f"{spec.title} · {', '.join(v.label for v in spec.variants)}"[:LONGEST_TITLE]
    out = home.runs_directory()
    elsewhere = [] if host is None else host_words(host)
    command = ["capture", *spec.to_argv(), *elsewhere, "--out", "{out}", "--progress", "{progress}"]
    swept = spec.sweep.text if spec.sweep is not None else ""
    python = swept if swept.startswith("python=") else spec.python
    more = {"against": spec.against} if spec.against else {}
    more |= {"host": host_name} if host is not None else {}
    write_down(asker, "capture", title, device=spec.device, python=python, **more)
    return jobs.submit(
        module_words("profiler_core", *command),
        title=title,
        device=spec.device if host is None else f"{spec.device} of {called(host)}",
        environment=for_code_of(asker),
        **whose(asker),
        out=out,
        capture=spec.to_dict(),
        asked=[each.to_dict() for each in captures_of(spec)] if runner and host is None else [],
        runner=runner,
    )


def cancel_capture(asker: Asker | None, job_id: str) -> None:
    """Ask a capture to stop.

    Raises:
        Refused: this person may not, an agent did not start it, or it is somebody else's.
        HistoryUnavailable: the audit cannot be written.
        BadInput: there is no such capture, or it has ended.
    """
    stop(check_may_capture(asker), jobs.job(job_id), f"The capture {job_id}")


def stop(asker: Asker, job: jobs.Job, called: str) -> None:
    """Ask a live job to stop, for somebody who may capture; an agent stops what agents started.

    Args:
        asker: who asks.
        job: which.
        called: what errors call it.

    Raises:
        Refused: it is somebody else's, or no agent started it.
        HistoryUnavailable: the audit cannot be written.
        BadInput: it has ended.
    """
    if not may_see(asker, job):
        raise Refused("This job is somebody else's.", remedy="Ask whoever started it.")
    if asker.is_agent and job.spec.owner != AGENT:
        raise Refused(
            f"{called} was not started by an agent.",
            remedy="Let the person stop it who started it.",
        )
    if not job.is_live:
        raise BadInput(f"{called} has ended already: {job.state}.", remedy="Look at its runs.")
    write_down(asker, "cancel", job.spec.title[:LONGEST_TITLE])
    jobs.cancel(job.job_id)


def ask_interpreter(asker: Asker | None, python: str | None) -> "Question":
    """Permission to ask an interpreter what it has; `Question.answer` starts the process.

    Raises:
        Refused: this person may not capture here, or not with this interpreter.
        HistoryUnavailable: the audit cannot be written; nothing starts then.
        CaptureFailed: a listed interpreter does not exist any more.
    """
    asker = check_may_capture(asker)
    executable = interpreter_for(python, asker)
    write_down(asker, "ask interpreter", executable or "the server's own")
    arguments = ["doctor", "--json", *([f"--python={executable}"] if executable else [])]
    return Question(tuple(arguments), for_code_of(asker))


class Question:
    """One verb of the command line that was allowed and written down, and may run once."""

    def __init__(self, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
        self._words = arguments
        self._environment = environment

    def answer(self, within_s: float) -> bytes:
        """What it prints; waits for it.

        Raises:
            DidNotRun: it did not start, or not end in time.
        """
        return run_module(
            "profiler_core", *self._words, environment=self._environment, within_s=within_s
        ).stdout


def make_file(
    asker: Asker | None, verb: str, runs: Collection[Path], ending: str, options: Collection[str]
) -> str:
    """Have a verb of the command line write a file about runs, as a job; returns the job's id.

    The file is `<verb><ending>` in the job's folder.

    Args:
        asker: who asks.
        verb: "report" or "export".
        runs: their folders, the baseline first.
        ending: of the file's name.
        options: further words.

    Raises:
        Refused: this person may not look at runs.
        HistoryUnavailable: the audit cannot be written; nothing starts then.
        QueueFull: too many jobs run or wait.
    """
    asker = _check_may_look(asker)
    names = [run.name for run in runs]
    write_down(asker, verb, ", ".join(names)[:LONGEST_TITLE], ending=ending)
    workload = workload_of(runs)
    of = f" of {workload}" if workload else ""
    jobs.forget_made(owner_for(asker), _VERBS.keys(), _KEPT_FILES_BYTES)
    needs: tuple[Need, ...] = ("database",) if verb == "report" else ()  # a report has its review
    words = (verb, *(str(run.resolve()) for run in runs), "-o", f"{{job}}/{verb}{ending}", *options)
    return jobs.submit(
        module_words("profiler_core.cli", *words),
        kind=verb,
        title=f"{_VERBS.get(verb, verb)}{of}: {', '.join(names)}"[:LONGEST_TITLE],
        needs=needs,
        **whose(asker),
    )


def read_file(asker: Asker | None, module: str, path: Path, version: str) -> str:
    """Submit the reading of a file as a job, unless one reads it already; returns the job's id.

    Args:
        asker: who looks.
        module: of ours; its only argument is the path.
        path: what is read, a file or a folder.
        version: of the file.

    Raises:
        Refused: this person may not look at runs.
        QueueFull: too many jobs run or wait.
    """
    asker = _check_may_look(asker)
    return jobs.submit(
        module_words(module, str(path)),
        kind="read",
        title=f"{path.parent.name}/{path.name}"[-LONGEST_TITLE:],
        subject=f"{module}\n{path}\n{version}",
        is_shared=True,
        **whose(asker),
        needed_bytes=needed_to_read(path),
        input_bytes=size_of(path),
    )


def start_reader(
    asker: Asker | None, module: str, *arguments: str, needs: Collection[Need] = ()
) -> Worker:
    """Start a module of ours that reads what lies here, for somebody who looks at it.

    Args:
        asker: who looks.
        module: its full name.
        arguments: words.
        needs: what it must reach.

    Raises:
        Refused: this person may not look at runs.
    """
    _check_may_look(asker)
    return Worker(module, *arguments, needs=needs)


def start_reading_upload(asker: Asker | None, upload_id: str, file_numbers: Collection[int]) -> str:
    """Submit the job that makes runs of files that lie here, of whoever sent them; returns its id.

    Raises:
        Refused: this person may not upload.
        HistoryUnavailable: the audit cannot be written; nothing is read then.
        QueueFull: too many jobs run or wait.
    """
    asker = _check_may_upload(asker)
    write_down(asker, "upload", f"upload/{upload_id}", n_files=len(file_numbers))
    names = [file.label for file in incoming.received(upload_id, tuple(file_numbers))]
    # An admin who has it read again takes it not.
    sender = owner_of(incoming.incoming_directory(upload_id)) or asker.person
    words = (upload_id, *map(str, file_numbers), f"--owner={sender}")
    return _submit_ingest(
        asker, "profiler_core.store.uploads", words, upload_id, ", ".join(names), ()
    )


def start_recording_push(asker: Asker | None, upload_id: str, name: str, via: str) -> str:
    """Submit the job that records the one file that this person pushed; returns its id.

    Args:
        asker: who pushed it.
        upload_id: as which it was received.
        name: of the file, to be shown.
        via: by what means, for the audit.

    Raises:
        Refused: this person may not upload.
        HistoryUnavailable: the audit cannot be written; nothing is read then.
        QueueFull: too many jobs run or wait.
    """
    asker = _check_may_upload(asker)
    write_down(asker, "upload", f"upload/{upload_id}", n_files=1)
    words = (upload_id, f"--owner={asker.person}", f"--via={via}")
    return _submit_ingest(
        asker, "profiler_core.store.history.pushed", words, upload_id, name, ("database", "remote")
    )


def start_judging(
    asker: Asker | None, baseline: str, candidate: str, limits: Mapping[str, str],
    same: Collection[str],
) -> Worker:  # fmt: skip
    """Start the process that holds one run of the history against another.

    Args:
        asker: who wants to know.
        baseline: the name of a baseline, or the id of a run.
        candidate: the id of a run.
        limits: of quantities, as texts.
        same: ids of further runs of the baseline's code.

    Raises:
        Refused: this person may not look at runs.
        HistoryUnavailable: the audit cannot be written; nothing is judged then.
    """
    asker = _check_may_look(asker)
    write_down(asker, "gate", f"{baseline}, {candidate}"[:LONGEST_TITLE], limits=dict(limits))
    question = {"baseline": baseline, "candidate": candidate, "limits": limits, "same": tuple(same)}
    return _asked("profiler_core.store.judging", question)


def start_answering(asker: Asker | None, tool: str, arguments: Mapping[str, object]) -> Worker:
    """Start the process in which one question of an agent is answered.

    Args:
        asker: whose agent it is.
        tool: its name.
        arguments: of the tool.

    Raises:
        Refused: this person may not look at runs.
        HistoryUnavailable: the audit cannot be written; nothing is answered then.
    """
    asker = _check_may_look(asker)
    about = {name: value for name, value in arguments.items() if name in _ABOUT_RUNS}
    write_down(asker, "ask", tool, **about)
    return _asked(_ANSWERING, {"tool": tool, "arguments": arguments})


def _submit_ingest(
    asker: Asker, module: str, words: tuple[str, ...], upload_id: str, title: str,
    needs: tuple[Need, ...],
) -> str:  # fmt: skip
    received = incoming.incoming_directory(upload_id)
    return jobs.submit(
        module_words(module, *words),
        kind="ingest",
        title=title[:LONGEST_TITLE] or upload_id,
        subject=upload_id,
        is_shared=True,
        **whose(asker),
        needs=needs,
        needed_bytes=needed_to_read(received),
        input_bytes=size_of(received),
    )


def _asked(module: str, request: Mapping[str, object]) -> Worker:
    return Worker(module, needs=("database", "remote"), request=msgspec.json.encode(request))


def _check_may_upload(asker: Asker | None) -> Asker:
    if asker is None or "upload" not in asker.deeds:
        raise Refused(
            "Uploads need the role of a runner on this server.", remedy="Ask whoever runs it."
        )
    return asker


def cancel_job(asker: Asker | None, job_id: str) -> None:
    """Ask a job to stop: one's own, as an admin anybody's.

    Raises:
        Refused: it is somebody else's.
        HistoryUnavailable: the audit cannot be written.
        BadInput: there is no such job.
    """
    job = jobs.job(job_id)
    if asker is None or not may_cancel(asker, job):
        raise Refused("This job is somebody else's.", remedy="Ask whoever started it.")
    if job.is_live:
        write_down(asker, "cancel", job.spec.title[:LONGEST_TITLE])
        jobs.cancel(job_id)


def read_again(asker: Asker | None, job_id: str) -> str:
    """Submit once more the reading of an upload that was given up; returns the new job's id.

    Raises:
        Refused: it is somebody else's.
        HistoryUnavailable: the audit cannot be written; nothing is read then.
        BadInput: there is no such job, or its files are gone.
    """
    job = jobs.job(job_id)
    if asker is None or not may_see(asker, job):
        raise Refused("This job is somebody else's.", remedy="Ask whoever started it.")
    upload_id = job.spec.subject
    numbers = incoming.kept(upload_id)
    if not numbers:
        raise BadInput(f"The files of {job.spec.title} are gone.", remedy="Drop them again.")
    return start_reading_upload(asker, upload_id, numbers)


def may_cancel(asker: Asker, job: jobs.Job) -> bool:
    """Whether this person may stop the job."""
    if job.spec.kind in MEASURING and why_no_capture(asker) is not None:
        return False
    return may_see(asker, job)


def may_see(asker: Asker, job: jobs.Job) -> bool:
    """Whether the job is this person's; an admin's, an own machine's and its agent's are all.

    Who sees what it printed, why it failed and what it made; and who may stop it.
    """
    sees_all = asker.is_agent or not asker.signed_in or "delete" in asker.deeds
    return sees_all or job.spec.owner == asker.person


def _check_may_look(asker: Asker | None) -> Asker:
    if asker is None or "look" not in asker.deeds:
        raise Refused("You may not see runs here.", remedy="Sign in first.")
    return asker
