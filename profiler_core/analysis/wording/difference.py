"""A difference between two runs of a workload in words: before, after, interval, prediction."""

from collections.abc import Iterable

from profiler_core.analysis.trend import Change
from profiler_core.model.history import RecordedRun
from profiler_core.model.review import Difference, FindingTask, Review
from profiler_core.units import (
    format_change_between,
    format_difference,
    format_duration,
    format_share,
)


def difference_sentence(difference: Difference) -> str:
    """Both step times, the change, and its interval: that of what a step takes now."""
    before, after = difference.before_ns, difference.after_ns
    text = (
        f"A step went from {format_duration(before)} to {format_duration(after)} "
        f"({format_change_between(before, after)}): {format_difference(after - before)}"
    )
    if difference.gained_ns is None:
        return f"{text}; there are too few rounds for an interval."
    least, most = sorted(-gained for gained in difference.gained_ns)
    interval = f"95 % interval {format_difference(least)} to {format_difference(most)}"
    if not difference.is_beyond_noise:
        return f"{text}, {interval}, which is within the noise."
    return f"{text}, {interval}."


def prediction_sentence(difference: Difference) -> str:
    """What was predicted, and how much of it came true; "" where there was no number."""
    realised = difference.realised
    if difference.predicted_ns is None or realised is None:
        return ""
    if difference.predicted_ns < 0:
        longer = format_duration(-difference.predicted_ns)
        return f"The finding expected no gain, but a step that takes {longer} longer."
    predicted = format_duration(difference.predicted_ns)
    if difference.is_bound:
        predicted = f"at most {format_duration(difference.predicted_ns, 'up')}"
    text = f"The finding put {predicted} per step at stake: "
    if not difference.is_beyond_noise:
        return f"{text}whether any of it was gained cannot be told from noise."
    if realised < 0:
        return f"{text}none of it was gained."
    if realised > 1:
        return f"{text}more than that was gained."
    return f"{text}{format_share(realised)} of it was gained."


def task_words(review: Review, task: FindingTask) -> str:
    """State, owner, date and difference of a finding: "done, Ada. A step went from …"."""
    due = f"due {task.due}" if task.due else ""
    text = ", ".join(filter(None, (task.state, review.name_of(task.owner), due)))
    if task.difference is None:
        return text
    prediction = prediction_sentence(task.difference)
    return " ".join(filter(None, (f"{text}.", difference_sentence(task.difference), prediction)))


def regression_sentence(
    run: RecordedRun, difference: Difference, changes: Iterable[Change] = ()
) -> str:
    """One run that became slower, with what changed around it."""
    subject = " · ".join(filter(None, (run.workload, run.variant or run.name, run.gpu)))
    text = f"{subject} became slower. {difference_sentence(difference)}"
    commit = f" Commit {run.git_commit[:10]}." if run.git_commit else ""
    changed = "; ".join(f"{change.what}: {change.before} → {change.after}" for change in changes)
    return text + commit + (f" Changed since the run before: {changed}." if changed else "")
