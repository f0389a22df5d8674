"""The ledgers behind the fusion page, made once a version of the files and shared by sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import streamlit as st

from profiler_core.analysis.environment import differences, is_another_workload
from profiler_core.analysis.explanation import Material
from profiler_core.analysis.ledger.ledger import FusionLedger, LedgerSide, fusion_ledger
from profiler_core.analysis.shared_categories import with_known_categories
from profiler_core.analysis.summary import Summary
from profiler_core.errors import FusionscopeError, NothingToAnalyse
from profiler_core.ingest.version import Version, versions_of
from profiler_core.model.inductor import InductorLog
from profiler_core.store.library import Entry
from profiler_core.ui.analyses import known_of, summary_of
from profiler_core.ui.choice import Choice
from profiler_core.ui.compilation.data import generated_code
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.reading import read_run, read_trace, trace_at, trace_path


@dataclass(frozen=True)
class Fused:
    """One candidate's ledger against the baseline."""

    labels: tuple[str, str]
    ledger: FusionLedger
    log: InductorLog | None  # the candidate's, for its generated code
    entry: Entry  # the candidate, which kept the source lines
    devices: tuple[str | None, str | None]  # names, as the traces say them
    time: str = "GPU time"  # what its times are, in words
    workloads_differ: bool = False  # then nothing of one side became anything of the other


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
    # What is read for the first time shows progress: outside of the cache.
    materials = [_material(entry) for entry in entries]
    paths = tuple(path for entry in entries for path in _paths(entry))
    summaries = [summary_of(entry) for entry in entries]
    known = tuple(sorted(known_of(choice).items()))  # other candidates teach as well
    ledger = _ledger(paths, versions_of(paths), known, materials)
    return Fused(
        labels=(choice.labels[0], choice.labels[number + 1]),
        ledger=ledger,
        log=materials[1].code,
        entry=entries[1],
        devices=(summaries[0].device.name, summaries[1].device.name),
        time=_time(summaries),
        workloads_differ=is_another_workload(differences(entries[0].run, entries[1].run)),
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


def _material(entry: Entry) -> Material:
    """What the ledger asks for, as the command line reads it."""
    stacks = read_run(entry).trace_stacks
    log = generated_code(entry)
    return Material(
        read_trace(entry),
        code=log if log is not None and log.says_something else None,
        stacks=trace_at(stacks) if stacks is not None else None,
    )


def _paths(entry: Entry) -> tuple[Path, ...]:
    run = read_run(entry)
    stacks = (run.trace_stacks,) if run.trace_stacks is not None else ()
    return (trace_path(entry), *stacks, *run.torch_trace)


# Arguments that begin with _ are not part of the key.
@st.cache_resource(max_entries=32, show_spinner=False)
def _ledger(
    paths: tuple[Path, ...],
    versions: tuple[Version, ...],
    known: tuple[tuple[str, str], ...],
    _materials: Sequence[Material],
) -> FusionLedger:
    del paths, versions
    left, right = (cast("LedgerSide", one.ledger_side) for one in _materials)  # each has a trace
    return with_known_categories(fusion_ledger(left, right), dict(known))
