"""Page: when each operator and kernel ran, baseline and candidates on one axis."""

from profiler_core.page_specs import PageSpec
from profiler_core.ui.page import page
from profiler_core.ui.perfetto.menu import offer_perfetto
from profiler_core.ui.run_picker import choose_runs
from profiler_core.ui.timeline.show import show_timeline

SPEC = PageSpec(
    title="Timeline",
    icon=":material/view_timeline:",
    question="When did each kernel run, and who was waiting for whom?",
    section="Look closer",
    order=110,
    needs="traces",
    parameters=("step", "window", "span", "event"),
)

with page(SPEC):
    offer_perfetto(show_timeline(choose_runs()))
