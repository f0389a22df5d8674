"""How a capture in a terminal, or below a supervisor, is told to stop."""

import signal
from collections.abc import Callable
from types import FrameType


def cancel_flag() -> Callable[[], bool]:
    """True once SIGINT or SIGTERM came. The launcher looks at it several times a second."""
    signals: list[int] = []

    def remember(number: int, _: FrameType | None) -> None:
        signals.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, remember)
    return lambda: bool(signals)
