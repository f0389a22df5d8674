"""The first thing on the page about telemetry: was the GPU in the same state for all?"""

from html import escape

import streamlit as st

from profiler_core.analysis.environment import differences, is_another_workload
from profiler_core.analysis.telemetry.fairness import PREFIX
from profiler_core.analysis.telemetry.words import clock_sentence, phase_sentence
from profiler_core.ui.overview.headline import entry_facts
from profiler_core.ui.telemetry.data import Recorded, SampledRun
from profiler_core.units import format_energy


def show_headline(recorded: Recorded) -> None:
    """Facts, one sentence, and the sentences it rests on."""
    first = recorded.runs[0]
    facts = " · ".join(escape(fact) for fact in entry_facts(first.entry))
    unlike = _unlike(recorded)
    unfair = [judged for _, judged in recorded.pairs if judged.fair is False]
    unknown = [judged for _, judged in recorded.pairs if judged.fair is None]
    bad = " fs-worse" if unfair else ""
    if unfair:
        title = "<em>Not a fair comparison</em>: the GPU was not in the same state for all runs"
    elif recorded.pairs and not unknown:
        title = "The GPU ran in <em>the same state</em> for all runs"
        if not unlike:
            title = f"A fair comparison: t{title[1:]}"
    elif unknown:
        title = "Whether the GPU was in the same state for all runs is <em>not known</em>"
    else:
        title = _single(first)
    lines = list(dict.fromkeys(_told(s) for _, judged in recorded.pairs for s in judged.sentences))
    if not recorded.pairs:
        lines = [clock_sentence(first.telemetry), phase_sentence(first.telemetry)]
    lines += [
        f"{label} is another workload than the baseline: what a step of it draws or costs says "
        "nothing of what compiling did."
        for label in unlike
    ]
    html = f"<p class=fs-eyebrow>{facts}</p><h1 class='fs-verdict{bad}'>{title}</h1>"
    html += "".join(f"<p class=fs-sub>{escape(line)}</p>" for line in lines if line)
    st.html(html)


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


def _told(sentence: str) -> str:
    """Without what the headline says already."""
    rest = sentence.removeprefix(PREFIX)
    return sentence if rest == sentence else rest[:1].upper() + rest[1:]


def _single(run: SampledRun) -> str:
    telemetry = run.telemetry
    energy, power = telemetry.energy_per_step_j, telemetry.power_w
    if energy is not None:
        return f"A step of {escape(run.label)} takes <em>{format_energy(energy)}</em>" + (
            f" at {power:.0f} W" if power is not None else ""
        )
    if power is not None:
        return f"The GPU drew <em>{power:.0f} W</em>"
    if telemetry.gpu_index is None and telemetry.host is not None:
        return "The process was sampled, <em>no GPU was</em>"
    return "Sampled for <em>too short a time</em> to say how much power it took"
