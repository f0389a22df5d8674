"""How often tokens were refused: enough to keep guesses and broken scripts from filling the audit.

Of this process, and in memory: a good token is never kept waiting by it.
"""

import time
from collections import OrderedDict
from threading import Lock

_WINDOW_S = 60.0
_MOST_IN_WINDOW = 20  # refusals of one client
_MOST_KEPT = 10_000


class RefusedTokens:
    """Counts refusals by client, and remembers which of them were recorded."""

    def __init__(self) -> None:
        """Nothing was refused yet."""
        self._times: OrderedDict[str, list[float]] = OrderedDict()
        self._recorded: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = Lock()

    def are_too_many(self, client: str) -> bool:
        """Counts one more; True where this client had its share of the last minute already."""
        now = time.monotonic()
        with self._lock:
            recent = [at for at in self._times.get(client, ()) if now - at < _WINDOW_S]
            is_over = len(recent) >= _MOST_IN_WINDOW
            self._times[client] = recent if is_over else [*recent, now]
            self._times.move_to_end(client)
            _shorten(self._times)
        return is_over

    def is_news(self, token_id: str, why: str) -> bool:
        """Is this refusal to be recorded, or was the same one a moment ago?"""
        now, key = time.monotonic(), (token_id, why)
        with self._lock:
            before = self._recorded.get(key)
            if before is not None and now - before < _WINDOW_S:
                return False
            self._recorded[key] = now
            self._recorded.move_to_end(key)
            _shorten(self._recorded)
        return True


def _shorten(kept: "OrderedDict[str, list[float]] | OrderedDict[tuple[str, str], float]") -> None:
    while len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
