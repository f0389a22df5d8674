"""A file that is whole or not there: written beside its place, and renamed."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from profiler_core.errors import BadInput

_AS_UMASK_SAYS = 0o666


@contextmanager
def written_aside(path: Path, mode: int = _AS_UMASK_SAYS) -> Iterator[Path]:
    """The path to write to, an empty file; at the end it becomes `path`, after an error it goes.

    Its name cannot be guessed and it is new: somebody else who may write into that folder could
    have put a link or a file of his in its place, and would read or choose what is written.

    Args:
        path: what it becomes; a link of that name is replaced, not followed.
        mode: the rights of the file, less the umask.

    Raises:
        BadInput: the file cannot be written.
    """
    aside = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        try:
            yield aside
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be written: {error.strerror}.",
            remedy="Name a file in a folder of yours.",
        ) from error
