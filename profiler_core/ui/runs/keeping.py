"""Bringing the history up to date from a page: in a process of its own, one for the whole server.

Recording a run reads its trace; done here it would freeze every other session.
"""

import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import streamlit as st

from profiler_core.door import deeds
from profiler_core.errors import BadInput
from profiler_core.store import history
from profiler_core.ui.sign_in.asker import asker

_POLL_S = 0.1


@dataclass
class _Recorder:
    process: subprocess.Popen[bytes]
    output: IO[bytes]

    def last_line(self) -> dict[str, Any]:
        """The newest whole line that it wrote."""
        data = Path(self.output.name).read_bytes()
        lines = data[: data.rfind(b"\n") + 1].splitlines()
        said: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        return said


@dataclass
class _Keeper:
    """The one recorder of this server, shared by all sessions that wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    running: _Recorder | None = None
    problems: tuple[tuple[str, str], ...] = ()
    has_looked: bool = False  # among the artifacts too, which costs a listing: once a server

    def follow(self) -> Iterator[dict[str, Any]]:
        """Start it if none runs; yields its progress until it ends.

        Raises:
            BadInput: it could not do anything; the sentence is its own.
        """
        with self.lock:
            if self.running is None:
                self.running = _start()
            recorder = self.running
        while recorder.process.poll() is None:
            yield recorder.last_line()
            time.sleep(_POLL_S)
        said = recorder.last_line()
        with self.lock:
            self.running = None
            self.has_looked = True
            self.problems = tuple((place, text) for place, text in said.get("problems", ()))
        if recorder.process.returncode != 0:
            raise BadInput(
                said.get("problem") or "The history could not be brought up to date.",
                remedy=said.get("remedy") or "Try it on a command line: runs reconcile.",
            )


def bring_up_to_date() -> tuple[tuple[str, str], ...]:
    """Record what is not in the history yet, with progress; (place, sentence) of what cannot be.

    Raises:
        BadInput: the history cannot be reached or written.
    """
    keeper = _keeper()
    stuck = {place for place, _ in keeper.problems}
    waiting = [p for p in history.pending() if f"{p.parent.name}/{p.name}" not in stuck]
    place = st.empty()  # always there: what follows must not move by one with the next run
    if waiting or not keeper.has_looked:
        for said in keeper.follow():
            total = said.get("total")
            if total:
                name = str(said.get("name", "")).replace("`", "")
                place.progress(said["done"] / total, text=f"Adding `{name}` to the history")
        place.empty()
    return keeper.problems


@st.cache_resource(show_spinner=False)
def _keeper() -> _Keeper:
    return _Keeper()


def _start() -> _Recorder:
    # Into a file, not a pipe: nobody may be there to empty it.
    output = tempfile.NamedTemporaryFile(prefix="fusionscope-history-")  # noqa: SIM115 - outlives this
    process = deeds.start_reader(
        asker(), "profiler_core.store.history", needs=("database", "remote"), output=output
    )
    return _Recorder(process, output)
