"""Samples of runs for the pages, read once a version of the files and shared by sessions.

The files are small (25 KB for three seconds) and capped at 32 MB, which decodes in a quarter
second; so they are read here and not in a process of their own.
"""

from pathlib import Path

import msgspec
import streamlit as st

from profiler_core.analysis.telemetry.run import RunTelemetry, run_telemetry
from profiler_core.ingest.telemetry.reader import RunSamples, read_run_samples
from profiler_core.model.run import RunFiles


def samples_of(run: RunFiles) -> RunSamples:
    """All samples of a run; a damaged file is a problem inside."""
    return _samples(_stamps(run), run)


def telemetry_of(run: RunFiles) -> RunTelemetry | None:
    """The run's telemetry in numbers; None where nothing was sampled."""
    stamped = _stamps(run)
    return _numbers(stamped, msgspec.json.encode(run.record), run) if stamped else None


def _stamps(run: RunFiles) -> tuple[tuple[Path, int], ...]:
    return tuple((p, p.stat().st_mtime_ns) for p in (run.nvml, run.host) if p is not None)


# Arguments that begin with _ are not part of the key.
@st.cache_resource(max_entries=64, show_spinner=False)
def _samples(stamped: tuple[tuple[Path, int], ...], _run: RunFiles) -> RunSamples:
    del stamped
    return read_run_samples(_run)


@st.cache_resource(max_entries=256, show_spinner=False)
def _numbers(
    stamped: tuple[tuple[Path, int], ...], record: bytes, _run: RunFiles
) -> RunTelemetry | None:
    del record
    samples = _samples(stamped, _run)
    return run_telemetry(_run.record, samples.gpus, samples.hosts, samples.problems)
