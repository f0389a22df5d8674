"""The first thing on the overview: what was run, and whether it was worth it, in one sentence."""

from collections.abc import Sequence

from profiler_core.analysis.compare import ComparedNumbers
from profiler_core.analysis.run_labels import run_facts
from profiler_core.analysis.wording.verdict import headline
from profiler_core.dates import day
from profiler_core.model.run import RunRecord
from profiler_core.session.run import Run
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.headline import show_claim
from profiler_core.ui.printed import show_what_failed_printed
from profiler_core.ui.states import state_sentence


def show_headline(choice: Choice, comparison: ComparedNumbers) -> None:
    """The line of facts, the verdict on the leading candidate, and one sentence on each other."""
    run = choice.baseline.run
    facts = entry_facts(choice.baseline)
    summary = comparison.baseline.summary
    if summary is not None and summary.device.name and not run.environment.get("gpu"):
        facts.insert(1, summary.device.name)  # a bare trace knows its device, too
    if run.world_size > 1:  # of the others, the page ranks tells
        facts.append(shown_ranks(choice.comparison.runs, run))
    first = headline(comparison, with_unfinished=False)
    lines = first.lines
    if not comparison.candidates and not comparison.baseline.is_cut:
        lines = ("No candidate is chosen: add one in the sidebar to compare.",)
    show_claim(facts, first.title, lines, bad=first.is_bad, warnings=state_sentences(choice))
    show_what_failed_printed(choice)


def shown_ranks(runs: Sequence[Run], baseline: RunRecord) -> str:
    """Whose kernels, groups and times are shown of a job: not always the opened rank's.

    Args:
        runs: all that are compared; each shows the rank that the others of its job await most.
        baseline: the baseline's record, of the opened rank.
    """
    ranks = {run.record.rank if run.shown_rank is None else run.shown_rank for run in runs}
    if len(ranks) > 1:  # "What these numbers leave out" says which of which run
        return f"{baseline.world_size} ranks"
    return f"rank {ranks.pop() if ranks else baseline.rank} of {baseline.world_size}"


def state_sentences(choice: Choice) -> list[str]:
    """One sentence for each run that did not finish."""
    sentences = (
        state_sentence(label, entry.run.status, entry.run.error)
        for label, entry in zip(choice.labels, choice.entries, strict=True)
    )
    return [sentence for sentence in sentences if sentence]


def entry_facts(entry: Entry) -> list[str]:
    """What was run, when, and where it comes from."""
    facts = run_facts(entry.run)
    if not (entry.run.workload or entry.run.name):
        # The folder of a variant is called by it, which the labels say; the one around tells more.
        facts.insert(0, entry.path.parent.name if entry.path.is_dir() else entry.path.name)
    if entry.run.created_at:
        facts.append(day(entry.run.created_at))
    facts.append({"sample": "sample", "upload": "upload"}.get(entry.origin, ""))
    return [fact for fact in facts if fact]
