"""The history for verbs that seldom need it: they run without its libraries too."""

import importlib
from types import ModuleType

from profiler_core.errors import BadInput


def the_history(what: str, instead: str) -> ModuleType:
    """`store.history`, imported at this moment.

    Args:
        what: that is kept there, to begin a sentence with.
        instead: an imperative clause: what works without.

    Raises:
        BadInput: SQLAlchemy or Alembic is not installed.
    """
    try:
        return importlib.import_module("profiler_core.store.history")
    except ImportError as error:
        raise BadInput(
            f"{what} lies in the history, which cannot be opened here: {error}.",
            remedy=f"{instead}, or install SQLAlchemy and Alembic.",
        ) from error
