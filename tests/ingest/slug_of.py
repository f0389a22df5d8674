"""What a file is taken for, as tests write it."""

from pathlib import Path

from profiler_core.ingest.kinds import kind_of


def slug_of(path: Path) -> str | None:
    """The slug of its kind; None: nothing known."""
    kind = kind_of(path)
    return None if kind is None else kind.slug
