"""Memory that nobody uses any more goes back to the system while the server has nothing to do.

What is freed stays with the C library, ready for the next request: after a large pair that is
100 MB and more. And answers that nobody asks for leave when the next one is kept, which on an idle
server is never.
"""

import ctypes
import gc
import logging
import time
from threading import Event

LOOK_S = 10.0
_QUIET = 0.05  # of a core; below it nobody waits for the server

_log = logging.getLogger(__name__)


def look_after_memory(stopped: Event, look_s: float = LOOK_S) -> None:
    """Clean up each time the server has come to rest; returns once `stopped` is set.

    Args:
        stopped: by whoever ends the server.
        look_s: seconds between two looks at the processor time that the server has used.
    """
    is_clean, used_s = True, time.process_time()
    while not stopped.wait(look_s):
        before_s, used_s = used_s, time.process_time()
        is_quiet = used_s - before_s < _QUIET * look_s
        if is_quiet and not is_clean:
            give_back()
            used_s = time.process_time()
        is_clean = is_quiet


def give_back() -> None:
    """Drop answers that nobody asks for, and cycles of garbage; free pages go to the system."""
    # Late: the server answers before all this is imported.
    from profiler_core.session.cache import SHARED

    SHARED.drop_unused()
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError, TypeError) as error:  # another C library
        _log.debug("Free memory stays with the process: %s", error)
