"""From a run of the library to an index: in milliseconds where it is there, else with progress."""

from pathlib import Path

import streamlit as st

from profiler_core.errors import BadInput
from profiler_core.ingest.open import is_cached
from profiler_core.session.run import Run
from profiler_core.store.library import Entry
from profiler_core.timeline.cache import index_trace, ready_index
from profiler_core.timeline.index import Index
from profiler_core.ui.problem_card import escape_markdown
from profiler_core.ui.reading import trace_path
from profiler_core.ui.trace_reader import TraceReaders
from profiler_core.units import format_bytes, format_count

# Indexing takes about 3 µs an event. Up to here it is done in this process (0.15 s); beyond,
# it would freeze the other sessions, so a subprocess does it.
IN_PROCESS_EVENTS = 50_000


def prepared_index(entry: Entry, run: Run) -> Index:
    """The index of a run's trace; draws progress while it is made for the first time.

    Args:
        entry: of the library.
        run: the same, or the rank of it that is shown.

    Raises:
        NothingToAnalyse: the run has no trace.
        BadInput: its trace cannot be read.
    """
    path = trace_path(entry, run)
    ready = ready_index(path)
    if ready is not None:
        return ready
    if is_cached(path):
        trace = run.trace  # as it was recorded, like what another process lays out
        if trace is not None and trace.n_events <= IN_PROCESS_EVENTS:
            return index_trace(path, trace)
    _index_with_progress(path)
    index = ready_index(path)
    if index is None:
        raise BadInput(
            f"The timeline of “{entry.variant}” was laid out but cannot be found again.",
            # Categories are part of the index's name: after an update this process, which still
            # has the old rules, looks for the old name.
            remedy="Restart the server if Fusionscope was updated; else make room on its disk.",
        )
    return index


def _index_with_progress(path: Path) -> None:
    bar = st.empty()
    size = format_bytes(path.stat().st_size)
    for progress in TraceReaders("profiler_core.timeline").read(path):
        if progress.stage == "indexing":
            text = f"Laying out {format_count(progress.done or 0)} events"
            bar.progress(1.0, text=text)
        elif progress.stage == "queued":
            bar.progress(0.0, text=escape_markdown(progress.text))
        else:
            bar.progress(progress.share, text=f"Reading the trace for the first time ({size})")
    bar.empty()
