"""The answers about one environment -> what works there, question by question, in a few words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tests.matrix.trial import CAPTURES, Trial

State = Literal["yes", "partly", "no"]


@dataclass(frozen=True)
class Cell:
    """One place of the table: does it work, and a few words of what was seen."""

    state: State
    text: str


def cells(trial: Trial) -> dict[str, Cell]:
    """Key of ROWS -> what was seen, for every row."""
    return {key: row(trial) for key, (_, row) in ROWS.items()}


def lost(trial: Trial) -> list[str]:
    """What the product says that this environment cannot give, each with the remedy it names.

    Of the findings of `doctor` those about torch (a machine without a GPU says more of itself), of
    `logs` and `compare` each sentence once, where `doctor` has not said it.
    """
    said = [
        f"{finding['what']}: {finding['detail'].rstrip('.')}. {finding['remedy'] or ''}".rstrip()
        for finding in trial["doctor"].get("findings", ())
        if finding["state"] != "yes" and finding["key"] in _ABOUT_TORCH
    ]
    for name in CAPTURES:
        said += [
            sentence
            for bound in trial[f"{name}.logs"].get("lower_bound", ())
            if (sentence := f"`logs`: {bound.partition(': ')[2]}")[8:] not in " ".join(said)
        ]
        notes = _candidate(trial, name)["fusion"]["notes"]
        said += [f"`compare`: {note}" for note in notes if "torch" in note]
    return list(dict.fromkeys(said))


_ABOUT_TORCH = frozenset(
    ("torch", "torch_compile", "trace", "compile_logs", "structured_log", "warm_compile_time",
     "source_lines_of_kernels", "several_ranks")
)  # fmt: skip
# Of the time on either side.
_ENOUGH = 0.99
# breaky's: a tensor's value taken into Python, and a print.
_BREAKS = 2


def _starts(trial: Trial) -> Cell:
    facts = trial["doctor"].get("facts", {})
    state: State = "yes" if trial["doctor"].get("can_capture") else "no"
    return Cell(state, f"torch {facts.get('torch')}, Python {facts.get('python')}")


def _runs(variant: str) -> Callable[[Trial], Cell]:
    def row(trial: Trial) -> Cell:
        runs = [
            run
            for name in CAPTURES
            for run in trial[f"{name}.capture"].get("runs", ())
            if run["variant"] == variant
        ]
        failed = [run["error"] for run in runs if run["status"] != "finished"]
        if failed or len(runs) < len(CAPTURES):
            return Cell("no", failed[0] if failed else "no capture")
        return Cell("yes", f"{len(runs)} of {len(CAPTURES)} workloads")

    return row


def _own_code(trial: Trial) -> Cell:
    runs = trial["own.capture"].get("runs", ())
    failed = [run["error"] for run in runs if run["status"] != "finished"]
    if failed or not runs:
        return Cell("no", failed[0] if failed else "no capture")
    return Cell("yes", "package, relative import, data file")


def _trace(trial: Trial) -> Cell:
    summaries = [trial[f"{name}.summary"] for name in CAPTURES]
    n_steps = [len(summary.get("steps", ())) for summary in summaries]
    if 0 in n_steps:
        return Cell("no", "no step in the trace")
    n_skipped = sum(summary["n_skipped"] for summary in summaries)
    return Cell("partly" if n_skipped else "yes", f"{sum(n_steps)} steps, {n_skipped} events lost")


def _kernels(trial: Trial) -> Cell:
    by_category = [_candidate(trial, name)["by_category"] for name in CAPTURES]
    if not all("cpp_fused" in found for found in by_category):
        return Cell("no", "Inductor's kernels are not seen")
    total = sum(c["time_ns"][1] for found in by_category for c in found.values())
    other = sum(found.get("other", {"time_ns": [0, 0]})["time_ns"][1] for found in by_category)
    share = other / total
    return Cell("yes" if share < 0.02 else "partly", f"{share:.1%} of the time is “other”")


def _breaks(trial: Trial) -> Cell:
    n = len(trial["breaky.logs"].get("graph_breaks", ()))
    return _bounded(trial, "graph_breaks", n, f"{n} of {_BREAKS}", enough=n == _BREAKS)


def _recompiles(trial: Trial) -> Cell:
    n = len(trial["breaky.logs"].get("recompiles", ()))
    return _bounded(trial, "recompiles", n, f"{n}, with their reason", enough=n > 0)


def _bounded(trial: Trial, part: str, n: int, text: str, *, enough: bool) -> Cell:
    bounds = [str(bound) for bound in trial["breaky.logs"].get("lower_bound", ())]
    if any(bound.startswith(f"{part}:") for bound in bounds):
        return Cell("partly", f"{text}; some kinds are not logged")
    return Cell("yes" if enough else "partly" if n else "no", text)


def _structured(trial: Trial) -> Cell:
    n = [trial[f"{name}.logs"].get("compilations", ()) for name in CAPTURES]
    if not any(n):
        return Cell("no", "not written")
    return Cell("yes", f"{sum(map(len, n))} compilations")


def _compile_seconds(trial: Trial) -> Cell:
    sources = {_candidate(trial, name)["compile"]["source"] for name in CAPTURES}
    if None in sources:
        return Cell("no", "not known")
    return Cell("yes" if sources == {"logs"} else "partly", f"from the {' and the '.join(sources)}")


def _warm(trial: Trial) -> Cell:
    shares = []
    for name in CAPTURES:
        found = _candidate(trial, name)["compile"]
        if found["warm_seconds"] is None:
            return Cell("no", "not measured")
        shares.append(found["warm_seconds"] / found["first_call_seconds"])
    return Cell("yes", f"{min(shares):.0%} to {max(shares):.0%} of the cold one")


def _ledger(answer: str) -> Callable[[Trial], Cell]:
    def row(trial: Trial) -> Cell:
        found = [_candidate(trial, name, answer)["fusion"] for name in CAPTURES]
        least = min(
            coverage
            for fusion in found
            for coverage in (fusion["coverage_baseline"], fusion["coverage_candidate"])
        )
        n_groups = sum(len(fusion["groups"]) for fusion in found)
        state: State = "yes" if least >= _ENOUGH else "partly" if least else "no"
        share = "all" if least > 0.9995 else f"at least {least:.1%}"
        return Cell(state, f"{share} of the time, {n_groups} groups")

    return row


def _sources(trial: Trial) -> Cell:
    groups = [
        group
        for name in CAPTURES
        for group in _candidate(trial, name)["fusion"]["groups"]
        if group["candidate_kernels"]
    ]
    n = sum(bool(group["source"]) for group in groups)
    state: State = "yes" if n == len(groups) else "partly" if n else "no"
    return Cell(state, f"{n} of {len(groups)} groups")


def _memory(trial: Trial) -> Cell:
    peaks = [_candidate(trial, name)["memory"]["peak_allocated_bytes"] for name in CAPTURES]
    if not all(all(pair) for pair in peaks):
        return Cell("no", "no peak")
    return Cell("yes", "peak from the trace, as everywhere on a CPU")


def _numerics(trial: Trial) -> Cell:
    verdicts = [
        run["numerics"]
        for name in CAPTURES
        for run in trial[f"{name}.capture"].get("runs", ())
        if run["variant"] != "eager"
    ]
    state: State = "yes" if set(verdicts) == {"right"} else "no"
    return Cell(state, f"{verdicts.count('right')} of {len(CAPTURES)} right")


def _candidate(trial: Trial, name: str, answer: str = "compare") -> dict[str, Any]:
    candidates = trial[f"{name}.{answer}"].get("candidates")
    if not candidates:
        raise AssertionError(f"{name}.{answer}: {trial.answers[f'{name}.{answer}'].text}")
    candidate: dict[str, Any] = candidates[0]
    return candidate


# key -> title of the row, and what fills it; in the order of the document.
ROWS: dict[str, tuple[str, Callable[[Trial], Cell]]] = {
    "starts": ("starts", _starts),
    "eager": ("eager", _runs("eager")),
    "compiled": ("compiled (inductor)", _runs("default")),
    "own_code": ("the user's own project", _own_code),
    "trace": ("trace", _trace),
    "kernels": ("kernels by name and category", _kernels),
    "graph_breaks": ("graph breaks", _breaks),
    "recompiles": ("recompiles", _recompiles),
    "structured_log": ("structured log", _structured),
    "compile_seconds": ("compile seconds", _compile_seconds),
    "warm": ("warm compile time", _warm),
    "ledger": ("fusion ledger with logs", _ledger("compare")),
    "ledger_without_logs": ("fusion ledger of two bare traces", _ledger("without_logs")),
    "sources": ("source lines in the ledger", _sources),
    "memory": ("memory", _memory),
    "numerics": ("numerics", _numerics),
}
