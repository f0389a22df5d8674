"""Files that only their owner may read: created with mode 0600, replaced whole."""

import os
import secrets
from pathlib import Path

from profiler_core.durable import bring


def write_private(path: Path, content: bytes) -> None:
    """Write `content` to `path`; a reader sees the old file or the new one, never a part.

    Its folder, where missing, is made for the owner alone (mode 0700).

    Raises:
        OSError: the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        bring(aside, path)
    except BaseException:  # such as a full disk
        aside.unlink(missing_ok=True)
        raise
