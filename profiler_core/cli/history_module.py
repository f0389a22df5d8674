"""The history for verbs that seldom need it: they run without its libraries too."""

import importlib
from pathlib import Path
from types import ModuleType

from profiler_core.errors import BadInput
from profiler_core.home import history_file, runs_directory, uploads_directory
from profiler_core.settings import settings


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


def check_files(path: Path) -> None:
    """Refuse a run of the library whose files are not those that were recorded.

    Where there is no history yet, nothing was recorded.

    Raises:
        BadInput: they are not, or the history cannot be asked.
    """
    resolved, roots = path.resolve(), (runs_directory(), uploads_directory())
    is_of_library = any(resolved.is_relative_to(root.resolve()) for root in roots)
    if is_of_library and (settings().database_url or history_file().is_file()):
        history = history_module(f"What {path} held when it was recorded", "Copy it elsewhere")
        history.check_directory(path)
