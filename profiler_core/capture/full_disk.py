"""A disk that has no room left for what is measured."""

from __future__ import annotations

import errno


def is_full(error: OSError) -> bool:
    """Whether the disk, or what this user may have of it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
