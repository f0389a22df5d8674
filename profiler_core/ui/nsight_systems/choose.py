"""The fields with which a recording's steps and process are chosen; kept for the file's content."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st

from profiler_core.analysis.nsight_systems import Recording, recording_of
from profiler_core.errors import FusionscopeError
from profiler_core.ingest.fingerprint import fingerprint
from profiler_core.ingest.nsight_systems.choice import AS_IT_IS, chosen, keep
from profiler_core.ui.choice import Choice as Runs
from profiler_core.ui.problem_card import escape_markdown
from profiler_core.ui.reading import read_trace, trace_path
from profiler_core.ui.sign_in.visitor import visitor

_BY_RULE = "chosen by the rule"


def offer_recording_choices(runs: Runs) -> None:
    """Draw the fields for each run that Nsight Systems recorded; nothing where there is none."""
    who = visitor()
    if who is None or not who.may("upload"):  # the choice holds for everybody who opens the file
        return
    recorded = []
    for entry in runs.entries:
        try:
            recording = recording_of(read_trace(entry))
            if recording is not None and (recording.ranges or recording.other_processes):
                recorded.append((entry, trace_path(entry), recording))
        except FusionscopeError:  # the page says elsewhere what is wrong with it
            continue
    if not recorded:
        return
    with st.expander("Which ranges are the steps", type="compact"):
        places = st.columns(max(2, len(recorded)))
        for place, (entry, path, recording) in zip(places, recorded, strict=False):
            with place:
                _fields(entry.key, entry.run.name or entry.path.name, path, recording)


def _fields(key: str, name: str, path: Path, recording: Recording) -> None:
    content = fingerprint(path)
    now = chosen(content)
    labels = [_BY_RULE, *recording.ranges]
    if now.step_range is not None and now.step_range not in labels:
        labels.append(now.step_range)
    st.selectbox(
        f"Steps of {escape_markdown(name)}",
        labels,
        index=labels.index(now.step_range) if now.step_range else 0,
        format_func=partial(_described, recording),
        key=(field := f"fs_nsight_steps_{key}"),
        on_change=_keep_steps,
        args=(content, field),
        help="The NVTX ranges that are the steps; # stands for any number.",
    )
    if recording.other_processes and recording.process is not None:
        pids = sorted((recording.process, *recording.other_processes))
        st.selectbox(
            f"Process of {escape_markdown(name)}",
            pids,
            index=pids.index(recording.process),
            key=(field := f"fs_nsight_process_{key}"),
            on_change=_keep_process,
            args=(content, field),
            help="The one with most device time is shown first.",
        )


def _described(recording: Recording, label: str) -> str:
    n = recording.ranges.get(label)
    if label == _BY_RULE:
        return label if recording.steps is None else f"{label}: {recording.steps}"
    return label if n is None else f"{label} · {n} times"


def _keep_steps(content: str, field: str) -> None:
    label = st.session_state[field]
    keep(content, replace(chosen(content), step_range=None if label == _BY_RULE else label))


def _keep_process(content: str, field: str) -> None:
    # The steps of one process may have other names in the next.
    keep(content, replace(AS_IT_IS, process=st.session_state[field]))
