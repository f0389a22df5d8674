"""The overview's table of an inference server's steps, where a run has such steps."""

from profiler_core.analysis.rows.server import MEANING, TITLE, server_sentences, server_table
from profiler_core.ui.choice import Choice
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import section
from profiler_core.ui.table import show_table


def show_server_steps(choice: Choice) -> None:
    """Draw it for all chosen runs; nothing where none is a server's."""
    runs = [run.server_phases for run in choice.comparison.runs]
    if not any(runs):
        return
    labels = choice.comparison.labels
    section(TITLE, f"{' → '.join(labels)}. {MEANING}" if len(runs) == 2 else MEANING)
    show_table(server_table(runs, labels), named=True, width_px=1240)
    names = labels if len(runs) > 1 else [""]
    show_notes(
        sentence
        for run, name in zip(runs, names, strict=True)
        for sentence in server_sentences(run, name)
    )
