"""Page: who did what on this server? For admins."""

from profiler_core.page_specs import PageSpec
from profiler_core.ui.activity.entries import show_entries
from profiler_core.ui.activity.retention import show_retention
from profiler_core.ui.page import page

SPEC = PageSpec(
    title="Activity",
    icon=":material/history:",
    question="Who captured, uploaded, deleted and signed what?",
    section="Runs",
    order=250,
    needs="nothing",
    parameters=("person", "deed", "page"),
    for_admins=True,
)

with page(SPEC):
    show_entries()
    show_retention()
