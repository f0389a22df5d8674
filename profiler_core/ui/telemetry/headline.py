"""The first thing on the page about telemetry: was the GPU in the same state for all?"""

from profiler_core.analysis.environment import differences, is_another_workload
from profiler_core.analysis.wording.telemetry import (
    clock_sentence,
    judged_lines,
    phase_sentence,
    state_of_gpu,
)
from profiler_core.ui.headline import show_claim
from profiler_core.ui.overview.headline import entry_facts
from profiler_core.ui.telemetry.data import Recorded


def show_headline(recorded: Recorded) -> None:
    """Facts, one sentence, and the sentences it rests on."""
    first = recorded.runs[0]
    unlike = _unlike(recorded)
    judged = tuple(fairness for _, fairness in recorded.pairs)
    title = state_of_gpu(judged, other_workloads=bool(unlike), alone=(first.label, first.telemetry))
    unfair = any(fairness.fair is False for fairness in judged)
    lines = judged_lines(judged)
    if not judged:
        lines = [clock_sentence(first.telemetry), phase_sentence(first.telemetry)]
    lines += [
        f"{label} is another workload than the baseline: what a step of it draws or costs says "
        "nothing of what compiling did."
        for label in unlike
    ]
    show_claim(entry_facts(first.entry), title, dict.fromkeys(lines), bad=unfair)


def _unlike(recorded: Recorded) -> list[str]:
    """Labels of the candidates that ran another workload than the baseline."""
    first = next((run for run in recorded.runs if run.number == 0), None)
    return [
        run.label
        for run in recorded.runs
        if run.number
        and first is not None
        and is_another_workload(differences(first.run.record, run.run.record))
    ]
