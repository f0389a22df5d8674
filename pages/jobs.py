"""Page: what is read, measured and written here on its own, and what came of it?"""

from profiler_core.page_specs import PageSpec
from profiler_core.ui.jobs.listing import show_jobs
from profiler_core.ui.page import page

SPEC = PageSpec(
    title="Jobs",
    icon=":material/pending_actions:",
    question="What is being read, measured or written in the background, and how did it end?",
    section="Runs",
    order=235,
    needs="nothing",
    words="queue progress failed logs",
    parameters=("whose",),
)

with page(SPEC) as first_line:
    show_jobs(first_line)
