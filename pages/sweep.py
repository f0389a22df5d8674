"""Page: from which batch size, shape or other value on does compiling pay?"""

from profiler_core.page_specs import PageSpec
from profiler_core.ui.page import loading, page
from profiler_core.ui.sweep.charts import show_measures, show_speedup
from profiler_core.ui.sweep.choose import choose_sweep
from profiler_core.ui.sweep.data import read_sweep
from profiler_core.ui.sweep.headline import show_headline, show_short_failures
from profiler_core.ui.sweep.style import write_sweep_style
from profiler_core.ui.sweep.table import show_points, show_what_is_missing

SPEC = PageSpec(
    title="Sweeps",
    icon=":material/stacked_line_chart:",
    question="From which batch size, shape or other value on does compiling pay?",
    section="Runs",
    order=220,
    needs="sweeps",
    words="batch sizes shapes break-even",
    parameters=("sweep",),
    writes_headline=True,
    draws_figures=True,
)

with page(SPEC):
    write_sweep_style()
    group = choose_sweep()
    with loading(height_px=560):
        read = read_sweep(group)
    show_headline(group, read.sweep)
    show_short_failures(read.sweep)
    show_speedup(read.sweep)
    show_measures(read.sweep)
    show_points(group, read.sweep)
    show_what_is_missing(read.sweep, read.problems)
