"""The history for verbs that seldom need it: they run without its libraries too."""

import importlib
from types import ModuleType

from profiler_core.errors import BadInput


def history_module(subject: str, instead: str) -> ModuleType:
    """`store.history`, imported at this moment.

    Args:
        subject: what is kept there, as the first words of a sentence.
        instead: an imperative clause: what works without the history.

    Raises:
        BadInput: SQLAlchemy or Alembic is not installed.
    """
    try:
        return importlib.import_module("profiler_core.store.history")
    except ImportError as error:
        raise BadInput(
            f"{subject} lies in the history, which cannot be opened here: {error}.",
            remedy=f"{instead}, or install SQLAlchemy and Alembic.",
        ) from error
