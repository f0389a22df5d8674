"""Page: who waits for whom among the ranks of a job, and what did compiling change for them?"""

from profiler_core.analysis.wording.sentence import of_run
from profiler_core.page_specs import PageSpec
from profiler_core.ui.empty_state import no_ranks
from profiler_core.ui.notes import show_notes
from profiler_core.ui.page import loading, page
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.ranks.arrivals import show_arrivals
from profiler_core.ui.ranks.bring import bring_folded, bring_opened
from profiler_core.ui.ranks.data import chosen_jobs
from profiler_core.ui.ranks.headline import show_headline, show_unreadable
from profiler_core.ui.ranks.hta import show_hta
from profiler_core.ui.ranks.many import show_many
from profiler_core.ui.ranks.overlap import show_overlaps
from profiler_core.ui.ranks.steps import show_steps
from profiler_core.ui.ranks.tables import (
    show_collectives,
    show_compiling,
    show_job_steps,
    show_measures,
)
from profiler_core.ui.run_picker import choose_runs
from profiler_core.ui.upload.panel import show_upload_notes

SPEC = PageSpec(
    title="Ranks",
    icon=":material/lan:",
    question="Who waits for whom among the ranks of a job, and what did compiling change for them?",
    section="Look closer",
    order=170,
    needs="runs",
    words="collectives nccl all_reduce straggler ddp fsdp distributed waiting communication",
    parameters=("order",),
    writes_headline=True,
    draws_figures=True,
)

with page(SPEC):
    choice = choose_runs()
    with loading(height_px=560):
        chosen = chosen_jobs(choice)
    for problem, remedy in chosen.problems:
        problem_card(problem, remedy)
    jobs = [chosen_job for chosen_job in chosen.jobs if chosen_job.job.ranks]
    if jobs:
        show_headline(chosen)
        show_upload_notes(choice)
        show_notes(
            [
                *chosen.without,
                *(of_run(chosen_job.label, n) for chosen_job in jobs for n in chosen_job.job.notes),
            ]
        )
        bring_folded()
        show_job_steps(jobs, choice.comparison.numbers)
        show_steps(jobs)
        show_many(jobs)
        show_measures(jobs)
        show_overlaps(jobs, choice.comparison.kernels)
        show_collectives(jobs, choice.comparison.kernels)
        show_arrivals(jobs)
        show_compiling(jobs, choice.comparison)
        show_hta(jobs)
    elif chosen.jobs:
        show_unreadable(chosen)
    elif not chosen.problems:
        no_ranks(choice, chosen.without)
    if not jobs:
        bring_opened()
