"""Page: did the GPU run in the same state for all runs, and what did a step cost in energy?"""

from profiler_core.analysis.wording.sentence import of_run
from profiler_core.analysis.wording.telemetry import jitter_sentence
from profiler_core.page_specs import PageSpec
from profiler_core.ui.empty_state import no_samples
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import loading, page
from profiler_core.ui.run_picker import choose_runs
from profiler_core.ui.telemetry.charts import show_metrics, show_series
from profiler_core.ui.telemetry.data import recorded
from profiler_core.ui.telemetry.headline import show_headline
from profiler_core.ui.telemetry.live import show_live
from profiler_core.ui.telemetry.table import (
    missing_sentences,
    show_definitions,
    show_ranks,
    show_readings,
)

SPEC = PageSpec(
    title="Telemetry",
    icon=":material/monitor_heart:",
    question="Did the GPU run in the same state for all runs, and what energy did a step take?",
    section="Look closer",
    order=160,
    needs="runs",
    words="power clocks temperature throttling utilization sm energy nvml watts",
    parameters=("axis",),
    writes_headline=True,
    draws_figures=True,
)

with page(SPEC):
    choice = choose_runs()
    with loading(height_px=560):
        recorded_runs = recorded(choice)
    if recorded_runs.runs:
        show_headline(recorded_runs)
        show_readings(recorded_runs)
        show_ranks(recorded_runs)
        show_series(recorded_runs)
        show_metrics(recorded_runs)
        show_definitions(recorded_runs)
        jitters = [(run.label, jitter_sentence(run.telemetry.jitter)) for run in recorded_runs.runs]
        intervals = [of_run(label, sentence) for label, sentence in jitters if sentence]
        show_notes([*recorded_runs.without, *missing_sentences(recorded_runs), *intervals])
    elif recorded_runs.metrics:
        show_metrics(recorded_runs)
        show_notes(recorded_runs.without)
    else:
        no_samples(choice, recorded_runs.without)
    show_live()
