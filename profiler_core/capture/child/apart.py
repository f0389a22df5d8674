"""Keeps output and compilations of the capture's own passes out of the user's logs."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import Any, Dict, Iterator, Optional


@contextlib.contextmanager
def unlogged() -> Iterator[None]:
    """Write nothing into stdout, TORCH_LOGS and TORCH_TRACE of this process meanwhile.

    A model that the user compiled compiles again for the double precision of the reference: that
    is a recompile of this pass, and would read like one of the user's steps.
    """
    trace_log = logging.getLogger("torch.__trace")  # of TORCH_TRACE, 2.3 on
    was_disabled, trace_log.disabled = trace_log.disabled, True
    file_numbers = _interned()
    numbers_before = dict(file_numbers) if file_numbers is not None else {}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    _flush()
    kept = [(fd, os.dup(fd)) for fd in (1, 2)]
    try:
        for fd, _ in kept:
            os.dup2(nowhere, fd)
        yield
    finally:
        _flush()
        for fd, copy in kept:
            os.dup2(copy, fd)
            os.close(copy)
        os.close(nowhere)
        trace_log.disabled = was_disabled
        if file_numbers is not None:  # the records that say their numbers were not written
            file_numbers.clear()
            file_numbers.update(numbers_before)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _interned() -> Optional[Dict[str, Any]]:
    """File names that the structured log has given a number."""
    structured = sys.modules.get("torch._logging.structured")
    return getattr(structured, "INTERN_TABLE", None)
