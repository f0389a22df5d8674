"""An error of the file system as a sentence: the disk is full, read-only, or not this user's."""

import errno
from pathlib import Path

from profiler_core.errors import ServerFault
from profiler_core.home import home_directory


def not_written(error: OSError) -> ServerFault:
    """What happened while something was read and kept.

    Args:
        error: with the file it happened at, where the system says it.
    """
    at = Path(error.filename) if isinstance(error.filename, str) else home_directory()
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ServerFault(
            f"There is no room for what was read, at {at}: {reason}.",
            remedy=f"Make room on the disk of {home_directory()}, or set largest_cache_gb lower.",
        )
    if error.errno == errno.EROFS:
        return ServerFault(
            f"What was read cannot be kept, at {at}: {reason}.",
            remedy=f"Let this user write below {home_directory()}, or move FUSIONSCOPE_HOME.",
        )
    return ServerFault(
        f"{at}: {reason}.",
        remedy=f"Let this user read that file and write below {home_directory()}.",
    )
