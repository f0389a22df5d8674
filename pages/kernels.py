"""Page: which kernels took the time, in the baseline and in the candidates."""

from profiler_core.figures.kernel_bars import kernel_bars
from profiler_core.page_specs import PageSpec
from profiler_core.ui.charts import show_figure
from profiler_core.ui.cut_traces import show_cut_traces
from profiler_core.ui.kernels.data import kernels_of
from profiler_core.ui.kernels.detail import show_kernel
from profiler_core.ui.kernels.filter import choose_kernels
from profiler_core.ui.kernels.table import choose_kernel, offer_csv
from profiler_core.ui.notes import show_notes
from profiler_core.ui.over_ranks import show_over_ranks
from profiler_core.ui.page import loading, page
from profiler_core.ui.run_picker import choose_runs
from profiler_core.ui.style import colors

SPEC = PageSpec(
    title="Kernels",
    icon=":material/bar_chart:",
    question="Which kernels take the time, and which did compiling replace?",
    section="Look closer",
    order=120,
    needs="traces",
    parameters=("q", "kind", "kernel"),
    asks="numbers",
)

with page(SPEC):
    choice = choose_runs()
    with loading(height_px=560):
        longest = kernels_of(choice)
        runs = [run_seen.run.measured for run_seen in longest.shown]
    show_cut_traces(choice)
    measured = [run.kernels for run in runs]

    rows = choose_kernels(longest.rows)
    show_figure(
        kernel_bars(longest.labels, rows, colors()),
        key="kernel_bars",
        alt="Time a step of the longest kernels in each run; the table below has the numbers.",
    )
    selected = choose_kernel(longest.labels, rows, measured)
    offer_csv(longest.labels, rows, measured)
    if selected is not None:
        show_kernel(choice, longest.shown, selected, measured)
    if choice.candidates:
        show_over_ranks(choice.comparison.pairs[0])
    show_notes(
        f"{label}: {note}"
        for label, run in zip(longest.labels, runs, strict=True)
        for note in run.notes
    )
