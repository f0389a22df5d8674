"""Page: which kernels took the time, in the baseline and in the candidates."""

from profiler_core.analysis.item import read_item
from profiler_core.analysis.wording.first_lines import COPIES_ARE_LISTED, kernels_line
from profiler_core.analysis.wording.sentence import of_run
from profiler_core.figures.kernel_bars import kernel_bars
from profiler_core.page_specs import PageSpec
from profiler_core.ui.candidate import candidate_of
from profiler_core.ui.charts import show_figure
from profiler_core.ui.cut_traces import show_cut_traces
from profiler_core.ui.dossier.address import open_item, picking_key
from profiler_core.ui.kernels.data import kernels_of
from profiler_core.ui.kernels.filter import choose_kernels
from profiler_core.ui.kernels.table import offer_csv, show_kernels
from profiler_core.ui.notes import show_notes
from profiler_core.ui.over_ranks import notes_of_one_rank, show_over_ranks
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
    words="slowest hot hottest dearest most expensive occupancy calls",
    parameters=("q", "kind", "finding"),
    asks="numbers",
)

with page(SPEC) as first_line:
    choice = choose_runs()
    with loading(height_px=560):
        longest = kernels_of(choice)
        runs = [run_seen.run.measured for run_seen in longest.shown]
    cut = [label for label in show_cut_traces(choice) if label in longest.labels]
    first_line.answer(
        kernels_line(
            longest.labels,
            longest.rows,
            longest.first,
            cut,
            longest.on_host,
            longest.unmarked,
            longest.span,
        )
    )
    measured = [run.kernels for run in runs]

    rows = choose_kernels(longest.device_work, choice.comparison)
    show_figure(
        kernel_bars(
            longest.labels,
            rows,
            colors(),
            order=longest.order,
            span=longest.span,
            beside=longest.beside,
        ),
        key=picking_key("kernel_bars"),
        alt=f"Time {longest.span} of the longest kernels in each run; the table below has the "
        "numbers.",
        on_pick=lambda item: open_item(read_item(item)),
    )
    show_kernels(
        longest.labels,
        rows,
        longest.span,
        measured,
        order=longest.order,
        is_compared=not cut and not longest.unmarked,
        in_place=longest.in_place,
    )
    offer_csv(longest.labels, rows, longest.span, measured)
    show_notes(filter(None, [COPIES_ARE_LISTED if longest.copies else "", longest.time_note]))
    if choice.candidates:
        show_over_ranks(choice.comparison.pairs[candidate_of(choice)])
    notes = [
        of_run(label, note)
        for label, run in zip(longest.labels, runs, strict=True)
        for note in run.notes
    ]
    show_notes([*notes_of_one_rank(choice), *notes])
