"""Bringing the history up to date from a page: in a process of its own, one for the whole server.

Recording a run reads its trace; done here it would freeze every other session.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from profiler_core.door import deeds
from profiler_core.store import history
from profiler_core.ui.sign_in.asker import asker
from profiler_core.worker.protocol import Progress
from profiler_core.worker.worker import Worker


@dataclass
class _Keeper:
    """The one recorder of this server, shared by all sessions that wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    running: Worker | None = None
    problems: tuple[tuple[str, str], ...] = ()
    has_looked: bool = False  # among the artifacts too, which costs a listing: once a server

    def follow(self) -> Iterator[Progress]:
        """Start it if none runs; yields its progress until it ends.

        Raises:
            BadInput: it could not do anything; the sentence is its own.
        """
        with self.lock:
            if self.running is None:
                self.running = deeds.start_reader(
                    asker(), "profiler_core.store.history", needs=("database", "remote")
                )
            recorder = self.running
        yield from recorder.progress()
        with self.lock:
            self.running = None
            self.has_looked = True
        self.problems = recorder.result(
            history.Reconciled,
            ended="The history could not be brought up to date.",
            remedy="Try it on a command line: runs reconcile.",
        ).problems


def bring_up_to_date(*, with_artifacts: bool = True) -> tuple[tuple[str, str], ...]:
    """Record what is not in the history yet, with progress; (place, sentence) of what cannot be.

    Args:
        with_artifacts: look through those too, once per server, which costs a listing.

    Raises:
        BadInput: the history cannot be reached or written.
    """
    keeper = _keeper()
    stuck = {folder for folder, _ in keeper.problems}
    waiting = [p for p in history.waiting() if f"{p.parent.name}/{p.name}" not in stuck]
    bar = st.empty()  # always there: what follows must not move by one with the next run
    if waiting or (with_artifacts and not keeper.has_looked):
        for progress in keeper.follow():
            if progress.total:
                name = progress.text.replace("`", "")
                bar.progress(progress.share, text=f"Adding `{name}` to the history")
        bar.empty()
    return keeper.problems


def recorded_ids(keys: Sequence[str]) -> Mapping[str, str]:
    """Key of a capture's or upload's run -> run_id, after recording what is not recorded yet.

    Raises:
        BadInput: the history cannot be reached or written.
    """
    ids_of_keys = history.run_ids_of(keys)
    if set(keys) - set(ids_of_keys):
        bring_up_to_date()
        ids_of_keys = history.run_ids_of(keys)
    return ids_of_keys


@st.cache_resource(show_spinner=False)
def _keeper() -> _Keeper:
    return _Keeper()
