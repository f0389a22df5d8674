"""Page: who waits for whom among the ranks of a job, and what did compiling change for them?"""

from profiler_core.page_specs import PageSpec
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import loading, page
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.ranks.arrivals import show_arrivals
from profiler_core.ui.ranks.bring import bring_folded, bring_opened
from profiler_core.ui.ranks.data import seen_jobs
from profiler_core.ui.ranks.empty import show_one_rank, show_unreadable
from profiler_core.ui.ranks.headline import show_headline
from profiler_core.ui.ranks.hta import show_hta
from profiler_core.ui.ranks.steps import show_steps
from profiler_core.ui.ranks.tables import show_collectives, show_measures
from profiler_core.ui.run_picker import choose_runs
from profiler_core.ui.upload.panel import show_upload_notes

SPEC = PageSpec(
    title="Ranks",
    icon=":material/lan:",
    question="Who waits for whom among the ranks of a job, and what did compiling change for them?",
    section="Look closer",
    order=170,
    needs="runs",
    parameters=("order",),
    writes_headline=True,
)

with page(SPEC):
    choice = choose_runs()
    with loading(height_px=560):
        seen = seen_jobs(choice)
    for problem, remedy in seen.problems:
        problem_card(problem, remedy)
    jobs = [one for one in seen.jobs if one.job.ranks]
    if jobs:
        show_headline(seen)
        show_upload_notes(choice)
        show_notes([*seen.without, *(f"{one.label}: {n}" for one in jobs for n in one.job.notes)])
        bring_folded()
        show_steps(jobs)
        show_measures(jobs)
        show_collectives(jobs)
        show_arrivals(jobs)
        show_hta(jobs)
    elif seen.jobs:
        show_unreadable(seen)
    elif not seen.problems:
        show_one_rank(choice, seen)
    if not jobs:
        bring_opened()
