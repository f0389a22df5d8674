"""All comparisons of the library at once; the product asks for a page of them at a time."""

from profiler_core.store import catalogue
from profiler_core.store.library import Comparable


def comparisons() -> tuple[Comparable, ...]:
    """Own ones newest first, then the samples."""
    return catalogue.groups(catalogue.Wanted(), limit=1_000_000).groups
