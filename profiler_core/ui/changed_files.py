"""A notice above the numbers of a run whose files are not those that were recorded."""

from profiler_core.errors import FusionscopeError
from profiler_core.store import history
from profiler_core.ui.choice import Choice
from profiler_core.ui.problem_card import problem_card

_REMEDY = (
    "Its numbers below are those of the files as they are now. The gate and baselines refuse it "
    "until the recorded files are back."
)


def show_changed_files(choice: Choice) -> None:
    """Draw it for each such run; nothing where the history cannot be asked."""
    for entry, label in zip(choice.entries, choice.labels, strict=True):
        if entry.origin not in ("capture", "upload") or not entry.run.run_id:
            continue
        try:
            notice = history.notice(entry.run.run_id, entry.key, entry.path)
        except FusionscopeError:
            return  # what needs the history says so itself
        if notice is not None:
            problem_card(f"{label}: {notice}", _REMEDY)
