"""What a process printed: its last lines, and the whole as a file."""

import os
from html import escape
from pathlib import Path

import streamlit as st

from profiler_core import run_directory as names
from profiler_core.guarded_open import open_guarded
from profiler_core.jobs import service as jobs
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.download import download_button
from profiler_core.ui.links import plain_label

_LINES = 15
_LARGEST = 64 << 20  # of a download, bytes: the end, where an error stands


def show_printed(
    path: Path, *, title: str, key: str, is_open: bool = False, about: jobs.Job | None = None
) -> None:
    """The last lines in a box, and a button that downloads all; nothing where nothing was printed.

    Args:
        path: the file that it was written to.
        title: of the closed box.
        key: of the button.
        is_open: show the lines at once, without a title.
        about: the job that printed it, which not everybody may see; None: it is of a run.
    """
    tail = jobs.tail_of(path, _LINES)
    if not tail:
        return
    with st.container() if is_open else st.expander(plain_label(title), type="compact"):
        # Column-reverse keeps the end in sight, however high the box is.
        st.html(f"<div class=fs-log><pre>{escape(tail)}</pre></div>")
        download_button(
            "Download the whole log",
            lambda: _end_of(path),
            file_name=f"{path.parent.name}-{path.name}",
            mime="text/plain",
            key=key,
            type="tertiary",
            on_click="ignore",
            job=about,
        )


def show_what_failed_printed(choice: Choice) -> None:
    """Of each chosen run that did not finish."""
    for entry, label in zip(choice.entries, choice.labels, strict=True):
        show_logs_of_failed(entry, label)


def show_logs_of_failed(
    entry: Entry, label: str, *, before: str = "fs_printed", about: jobs.Job | None = None
) -> None:
    """What a run printed, and torch's log, to which its error leads; nothing of one that finished.

    Args:
        entry: the run.
        label: what it is called.
        before: of the buttons' keys, where two lists stand on one page.
        about: the job that it is of, which not everybody may see.
    """
    if entry.run.status not in ("failed", "lost"):
        return
    for name, title in (
        (names.STDOUT, f"What {label} printed last"),
        (names.TORCH_LOGS, f"The end of {names.TORCH_LOGS} of {label}"),
    ):
        key = f"{before}_{entry.key}_{name}"
        show_printed(entry.path / name, title=title, key=key, about=about)


def _end_of(path: Path) -> bytes:
    with open_guarded(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LARGEST))
        return file.read()
