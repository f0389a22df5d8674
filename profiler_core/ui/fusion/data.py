"""The ledgers behind the fusion page, made once a version of the files and shared by sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from profiler_core.analysis.ledger.ledger import FusionLedger, LedgerSide, fusion_ledger
from profiler_core.analysis.replayed import known_categories
from profiler_core.analysis.shared_categories import with_known_categories
from profiler_core.analysis.summary import Summary
from profiler_core.errors import FusionscopeError, NothingToAnalyse
from profiler_core.model.inductor import InductorLog
from profiler_core.model.trace import Trace
from profiler_core.store.library import Entry
from profiler_core.ui.analyses import summary_of
from profiler_core.ui.choice import Choice
from profiler_core.ui.compilation.data import generated_code
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.reading import read_run, read_trace, trace_path


@dataclass(frozen=True)
class Fused:
    """One candidate's ledger against the baseline."""

    labels: tuple[str, str]
    ledger: FusionLedger
    log: InductorLog | None  # the candidate's, for its generated code
    entry: Entry  # the candidate, which kept the source lines
    devices: tuple[str | None, str | None]  # names, as the traces say them
    time: str = "GPU time"  # what its times are, in words


def fused(choice: Choice, number: int) -> Fused:
    """Match the baseline with one candidate.

    Args:
        choice: with at least one candidate.
        number: which of them.

    Raises:
        NothingToAnalyse: there is no candidate, or a run has no trace.
        BadInput: a trace cannot be read.
    """
    if not choice.candidates:
        raise NothingToAnalyse(
            "One run alone has nothing to be matched with.", remedy="Choose a candidate as well."
        )
    entries = (choice.baseline, choice.candidates[number])
    traces = [read_trace(entry) for entry in entries]  # show progress: outside of the cache
    logs = [_log(entry) for entry in entries]
    paths = tuple(path for entry in entries for path in _paths(entry))
    stamps = tuple(path.stat().st_mtime_ns for path in paths)
    summaries = [summary_of(entry) for entry in entries]
    known = known_categories(summaries)
    ledger = _ledger(paths, stamps, (traces[0], traces[1]), (logs[0], logs[1]), known)
    return Fused(
        labels=(choice.labels[0], choice.labels[number + 1]),
        ledger=ledger,
        log=logs[1],
        entry=entries[1],
        devices=(summaries[0].device.name, summaries[1].device.name),
        time=_time(summaries),
    )


def all_fused(choice: Choice, numbers: Sequence[int]) -> dict[int, Fused]:
    """Each of these candidates that can be matched; a card for each that cannot.

    Raises:
        NothingToAnalyse: there is no candidate.
    """
    if not numbers:
        fused(choice, 0)
    found = {}
    for number in numbers:
        try:
            found[number] = fused(choice, number)
        except FusionscopeError as error:
            problem_card(f"{choice.labels[number + 1]}: {error.problem}", error.remedy)
    return found


def _time(summaries: Sequence[Summary]) -> str:
    on_gpu = any(summary.device_kind == "gpu" for summary in summaries)
    return "GPU time" if on_gpu else "operator time"


def _log(entry: Entry) -> InductorLog | None:
    log = generated_code(entry)
    return log if log is not None and log.graphs else None


def _paths(entry: Entry) -> tuple[Path, ...]:
    return (trace_path(entry), *read_run(entry).torch_trace)


# Arguments that begin with _ are not part of the key.
@st.cache_resource(max_entries=32, show_spinner=False)
def _ledger(
    paths: tuple[Path, ...],
    stamps: tuple[int, ...],
    _traces: tuple[Trace, Trace],
    _logs: tuple[InductorLog | None, InductorLog | None],
    _known: Mapping[str, str],
) -> FusionLedger:
    del paths, stamps
    ledger = fusion_ledger(LedgerSide(_traces[0], _logs[0]), LedgerSide(_traces[1], _logs[1]))
    return with_known_categories(ledger, _known)
