"""How the state of a run looks and what it means; "finished" needs no words."""

from profiler_core.markup import Markup

_MEANING = {
    "running": "being captured now",
    "failed": "the capture of it ended with an error",
    "cancelled": "somebody stopped the capture",
    "lost": "its process ended without a message: it was killed, or the machine went down",
}


def state_badge(status: str) -> Markup:
    """A small mark beside a run's name; empty for a finished run."""
    meaning = _MEANING.get(status)
    if meaning is None:
        return Markup("")
    kind = "fs-live" if status == "running" else "fs-bad"
    badge = Markup(' <span class="fs-state {}" title="{}">{}</span>')
    return badge.format(kind, meaning, status)


def state_sentence(label: str, status: str, error: str | None) -> str | None:
    """What happened to a run that did not finish, as plain text; None for a finished one."""
    what = what_happened(status, error)
    return None if what is None else f"{label}: {what}"


def what_happened(status: str, error: str | None) -> str | None:
    """`state_sentence` without the run's name: "failed. …"."""
    meaning = _MEANING.get(status)
    if meaning is None:
        return None
    return f"{status}. {error}" if error else f"{status}, {meaning}."
