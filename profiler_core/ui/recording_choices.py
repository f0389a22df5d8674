"""The fields with which a recording's steps and process are chosen; kept for the file's content.

Drawn for a format that declares the options `step_range` and `process`.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import streamlit as st

from profiler_core.analysis.recording import Recording, recording_of
from profiler_core.errors import FusionscopeError
from profiler_core.ingest.fingerprint import fingerprint
from profiler_core.ingest.formats import trace_format
from profiler_core.ingest.kinds import kind_of_trace
from profiler_core.ingest.options import chosen, keep
from profiler_core.ui.choice import Choice as Runs
from profiler_core.ui.problem_card import escape_markdown
from profiler_core.ui.reading import read_trace, trace_path
from profiler_core.ui.sign_in.guard import who_may
from profiler_core.ui.sign_in.roles import Deed

_BY_RULE = "chosen by the rule"
_DEED: Deed = "upload"  # the choice holds for everybody who opens the file


def offer_recording_choices(runs: Runs) -> None:
    """Draw the fields for each run whose format has a choice; nothing where none has."""
    if who_may(_DEED) is None:
        return
    recorded = []
    for entry in runs.entries:
        try:
            kind = kind_of_trace(trace_path(entry))
            if kind is None or not kind.options:  # its trace need not be opened
                continue
            recording = recording_of(read_trace(entry))
            if recording is not None and (recording.ranges or recording.other_processes):
                recorded.append((entry, trace_path(entry), recording))
        except FusionscopeError:  # the page says elsewhere what is wrong with it
            continue
    if not recorded:
        return
    with st.expander("Which ranges are the steps", type="compact"):
        columns = st.columns(max(2, len(recorded)))
        for column, (entry, path, recording) in zip(columns, recorded, strict=False):
            with column:
                _fields(entry.key, entry.run.name or entry.path.name, path, recording)


def _fields(key: str, name: str, path: Path, recording: Recording) -> None:
    kind = kind_of_trace(path)
    if kind is None:
        return
    slug, content = kind.slug, fingerprint(path)
    step_range = str(chosen(kind, content).get("step_range", _BY_RULE))
    labels = [_BY_RULE, *recording.ranges]
    if step_range not in labels:
        labels.append(step_range)
    st.selectbox(
        f"Steps of {escape_markdown(name)}",
        labels,
        index=labels.index(step_range),
        format_func=partial(_described, recording),
        key=(field := f"fs_recording_steps_{key}"),
        on_change=_keep_steps,
        args=(slug, content, field),
        help="The NVTX ranges that are the steps; # stands for any number.",
    )
    if recording.other_processes and recording.process is not None:
        pids = sorted((recording.process, *recording.other_processes))
        st.selectbox(
            f"Process of {escape_markdown(name)}",
            pids,
            index=pids.index(recording.process),
            key=(field := f"fs_recording_process_{key}"),
            on_change=_keep_process,
            args=(slug, content, field),
            help="The one with most device time is shown first.",
        )


def _described(recording: Recording, label: str) -> str:
    n = recording.ranges.get(label)
    if label == _BY_RULE:
        return label if recording.steps is None else f"{label}: {recording.steps}"
    return label if n is None else f"{label} · {n} times"


def _keep_steps(slug: str, content: str, field: str) -> None:
    label = st.session_state[field]
    choices = {**chosen(trace_format(slug), content)}
    _keep(slug, content, {**choices, "step_range": None if label == _BY_RULE else label})


def _keep_process(slug: str, content: str, field: str) -> None:
    # The steps of one process may have other names in the next.
    _keep(slug, content, {"process": st.session_state[field]})


def _keep(slug: str, content: str, choices: Mapping[str, str | int | None]) -> None:
    if who_may(_DEED) is not None:  # the role may have changed since the page was drawn
        keep(trace_format(slug), content, choices)
