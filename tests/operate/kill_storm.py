"""Kills the server, the processes of jobs and the database at random, and looks what is left.

    python -m tests.operate.kill_storm --times 200 [--seed 1] [--postgres]

A process does what a dashboard does for a visitor who uploads and deletes, with the same functions
and without a browser: it receives files, submits them, looks after jobs, and writes down what it
told the visitor. It and all else is killed by SIGKILL at random moments. At the end everything is
left in peace, and what was told must be true: nothing lost, nothing half, nothing twice.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from profiler_core import home
from profiler_core.jobs import directory as files
from tests.everything import comparisons

ROOT = Path(__file__).resolve().parents[2]
_KEEPS = "synchronous_commit=on"  # without it a killed database forgets what it has confirmed
_LONGEST_PEACE_S = 240.0
_MOST_JOBS = 4  # at once: what cannot be read before the end only makes the end longer
_DELETES = 0.25  # of all deeds
_AT_WORK = 0.98  # of the looks at a server that only starts


@dataclass
class Told:
    """What the server wrote down: promises to the visitor, and what it was about to do."""

    sent: dict[str, str] = field(default_factory=dict)  # upload -> hash of its file
    submitted: set[str] = field(default_factory=set)
    deleting: set[str] = field(default_factory=set)  # keys of captures, deleted or nearly
    deleted: set[str] = field(default_factory=set)


@dataclass
class Outcome:
    """How a storm ended."""

    kills: Counter[str]
    n_submitted: int
    n_deleted: int
    n_listed: int
    n_given_up: int  # killed three times: not read, but kept
    faults: list[str]
    cpu_s: float


# --- the process that stands for the dashboard ---


def serve(told: Path, seed: int, *, has_visitor: bool) -> None:
    """Look after jobs, and upload and delete for a visitor, until killed."""
    from profiler_core.errors import FusionscopeError
    from profiler_core.jobs.resuming import look_after_jobs
    from profiler_core.store.history.trash import settle

    threading.Thread(target=look_after_jobs, args=(threading.Event(),), daemon=True).start()
    chance = random.Random(seed)
    is_settled = False
    while True:
        time.sleep(chance.uniform(0, 0.3))
        try:
            if not is_settled:
                settle()  # what a server does when it brings the history up to date
                is_settled = True
            if not has_visitor:
                continue
            if chance.random() < _DELETES:
                _delete_one(told, chance)
            elif len(files.live_directories(home.jobs_directory())) < _MOST_JOBS:
                _upload_one(told)
        except FusionscopeError:  # the database is away, or the queue is full: told to the visitor
            continue


def _say(told: Path, *words: str) -> None:
    descriptor = os.open(told, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, (" ".join(words) + "\n").encode())
    os.close(descriptor)


def _upload_one(told: Path) -> None:
    from profiler_core.door import deeds
    from profiler_core.door.asker import Asker
    from profiler_core.store import incoming

    upload_id = incoming.new_upload_id()
    content = _trace(upload_id)
    _say(told, "sent", upload_id, hashlib.sha256(content).hexdigest())
    partial = incoming.part_path(upload_id, 0)
    partial.write_bytes(content)
    incoming.keep(partial, f"{upload_id}.json")
    who = Asker("Ada", ("look", "upload", "delete"), is_own_machine=True)
    deeds.start_reading_upload(who, upload_id, (0,))
    _say(told, "submitted", upload_id)


def _delete_one(told: Path, chance: random.Random) -> None:
    from profiler_core.store.deletion import delete

    uploads = [group for group in comparisons() if group.origin == "upload"]
    if uploads:
        group = chance.choice(uploads)
        _say(told, "deleting", group.key)
        delete(group, person="Ada")
        _say(told, "deleted", group.key)


def _trace(name: str) -> bytes:
    """The smallest trace with a step, an operator and its kernel, and nobody else's bytes."""
    common = {"ph": "X", "pid": 1, "tid": 1}
    events = [
        {**common, "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 90},
        {**common, "cat": "cpu_op", "name": f"aten::{name}", "ts": 1, "dur": 9},
        {**common, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 2, "dur": 3,
         "args": {"correlation": 7}},
        {**common, "cat": "kernel", "name": "k", "ts": 20, "dur": 30, "pid": 0, "tid": 7,
         "args": {"correlation": 7, "stream": 7, "device": 0}},
    ]  # fmt: skip
    return json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()


# --- the storm ---


class Storm:
    """Kills around one home.

    Args:
        place: where the home is.
        seed: of all chance.
        postgres: the database, where it is not SQLite.
    """

    def __init__(self, place: Path, seed: int, postgres: object = None) -> None:
        self._told = place / "told.txt"
        self._chance = random.Random(seed)
        self._postgres = postgres
        self._server: subprocess.Popen[bytes] | None = None
        self._told_before = 0
        self.kills: Counter[str] = Counter()

    def rage(self, times: int) -> None:
        """Kill so many processes, of each kind in turn, in an order of chance."""
        kinds = ["server", "supervisor", "command", *(["database"] if self._postgres else [])]
        victims = (kinds * times)[:times]
        self._chance.shuffle(victims)
        for victim in victims:
            until = time.monotonic() + _LONGEST_PEACE_S
            while True:
                self._serve(has_visitor=True)
                time.sleep(self._chance.uniform(0, 0.4))
                if self._kill(victim):
                    self.kills[victim] += 1
                    break
                assert time.monotonic() < until, f"There is no {victim} to kill."

    def calm_down(self) -> bool:
        """Start the server a last time and wait until no job is left; False: some stayed."""
        self.end_server()
        self._serve(has_visitor=False)
        until = time.monotonic() + _LONGEST_PEACE_S
        while files.live_directories(home.jobs_directory()) and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(1.0)  # the deletions of before
        self.end_server()
        return not files.live_directories(home.jobs_directory())

    def told(self) -> Told:
        """What the server wrote down."""
        told = Told()
        for line in self._told.read_text().splitlines() if self._told.exists() else ():
            word, name, *more = line.split()
            if word == "sent":
                told.sent[name] = more[0]
            else:
                getattr(told, word).add(name)
        return told

    def _serve(self, *, has_visitor: bool) -> None:
        if self._server is not None and self._server.poll() is None:
            return
        self._told_before = self._n_told()
        words = [
            "--serve",
            str(self._told),
            str(self._chance.getrandbits(32)),
            str(int(has_visitor)),
        ]
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.operate.kill_storm", *words],
            cwd=ROOT,
            stderr=subprocess.DEVNULL,
        )

    def _n_told(self) -> int:
        return self._told.stat().st_size if self._told.exists() else 0

    def end_server(self) -> None:
        """Kill it, where there is one."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()

    def _kill(self, victim: str) -> int:
        """Returns how many were killed: there may be none of that kind at this moment."""
        if victim == "server":
            # A server that does nothing but start would be killed most of the time.
            if self._n_told() == self._told_before and self._chance.random() < _AT_WORK:
                return 0
            self.end_server()
            return 1
        if victim == "database":
            self._postgres.kill()  # type: ignore[attr-defined]
            time.sleep(self._chance.uniform(0, 0.5))
            self._postgres.start()  # type: ignore[attr-defined]
            return 1
        name = files.ALIVE if victim == "supervisor" else files.COMMAND
        live = list(files.live_directories(home.jobs_directory()))
        for directory in self._chance.sample(live, len(live)):
            pid = _pid_in(directory / name)
            if pid is not None and _is_of_job(pid, directory):
                os.kill(pid, signal.SIGKILL)
                return 1
        return 0


def _pid_in(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _is_of_job(pid: int, directory: Path) -> bool:
    """A process id may belong to anybody by now."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        subject = files.read_spec(directory).subject
    except OSError:
        return False
    return str(directory) in words or subject in words


# --- what is left ---


def faults_of(told: Told) -> tuple[list[str], int, int]:
    """What is not as it was told; how many uploads are listed, and how many were given up."""
    from profiler_core.ingest.open import open_trace
    from profiler_core.store import incoming
    from profiler_core.store.history.trash_list import trash_contents

    faults: list[str] = []
    listed: Counter[str] = Counter()
    for group in comparisons():
        if group.origin != "upload":
            continue
        upload_id = group.path.name
        listed[upload_id] += 1
        traces = list(group.path.glob("*/trace.json"))
        if [hashlib.sha256(p.read_bytes()).hexdigest() for p in traces] != [told.sent[upload_id]]:
            faults.append(f"{upload_id} is listed and not what was sent")
        elif open_trace(traces[0]).tally.n_events < 3 or not group.entries[0].is_readable:
            faults.append(f"{upload_id} cannot be read")
        if group.key in told.deleted:
            faults.append(f"{upload_id} is listed and was deleted")
    faults += [f"{name} is listed {n} times" for name, n in listed.items() if n > 1]
    # Of one that was nearly deleted the visitor was told nothing: it is there, or in the trash.
    in_trash = {deletion.title for deletion in trash_contents()}
    n_in_trash = len(trash_contents())
    gone = {name for name in told.submitted if name not in listed}
    given_up = {
        name
        for name in gone
        for file in incoming.received(name, (0,))
        if hashlib.sha256(file.path.read_bytes()).hexdigest() == told.sent[name]
    }
    deleted = {key.rpartition("/")[2] for key in told.deleting}
    lost = gone - given_up - deleted
    faults += [f"{name} was submitted and is lost" for name in sorted(lost)]
    n_deleted = len(gone & deleted)
    if not len(told.deleted) <= n_in_trash or n_deleted > n_in_trash:
        faults.append(f"{n_deleted} are deleted, {n_in_trash} can be put back: {sorted(in_trash)}")
    work = [p for p in home.uploads_directory().glob(".incoming/*/*") if p.is_dir()]
    # Work that was given up lies beside what was received, which can be read again.
    faults += [f"{p} is left over" for p in work if not incoming.kept(p.parent.name)]
    return faults, sum(listed.values()), len(given_up)


def storm(place: Path, times: int, seed: int, *, on_postgres: bool = False) -> Outcome:
    """A storm on an empty home in `place`, which the environment must name."""
    from tests.store.history.postgres import own_postgres

    before = _cpu_s()
    with ExitStack() as stack:
        postgres = stack.enter_context(own_postgres(_KEEPS)) if on_postgres else None
        if postgres is not None:
            os.environ["FUSIONSCOPE_DATABASE_URL"] = postgres.url
        raging = Storm(place, seed, postgres)
        stack.callback(raging.end_server)
        raging.rage(times)
        is_calm = raging.calm_down()
        told = raging.told()
        faults, n_listed, n_given_up = faults_of(told)
        if not is_calm:
            faults.append("Jobs are left that nobody ends.")
        from profiler_core.store.history import database

        database.close_all()
    return Outcome(
        raging.kills, len(told.submitted), len(told.deleted), n_listed, n_given_up, faults,
        _cpu_s() - before,
    )  # fmt: skip


def _cpu_s() -> float:
    """Of this process and all that it waited for; supervisors are nobody's children."""
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


@contextmanager
def _own_home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fusionscope-storm-") as place:
        os.environ["FUSIONSCOPE_HOME"] = str(Path(place, "home"))
        os.environ["FUSIONSCOPE_PERSON"] = "Ada"
        os.environ.pop("FUSIONSCOPE_DATABASE_URL", None)
        yield Path(place)


def main() -> int:
    """By hand; returns 1 where anything is not as it was told."""
    parser = argparse.ArgumentParser(prog="tests.operate.kill_storm")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--serve", nargs=3, metavar=("TOLD", "SEED", "VISITOR"))
    arguments = parser.parse_args()
    if arguments.serve:
        told, seed, has_visitor = arguments.serve
        serve(Path(told), int(seed), has_visitor=has_visitor == "1")
    with _own_home() as place:
        outcome = storm(place, arguments.times, arguments.seed, on_postgres=arguments.postgres)
    print(outcome)
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
