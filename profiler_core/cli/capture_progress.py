"""What a capture shows while it runs."""

import time
from collections.abc import Callable
from typing import TextIO

from profiler_core.capture.progress import ProgressLine
from profiler_core.terminal_text import printable, rewrite_line

# Without a terminal a line that only counts on is printed this rarely.
_QUIET_S = 5.0


class Printer:
    """Shows progress lines: on a terminal in one line that is rewritten, else one by one."""

    def __init__(
        self,
        stream: TextIO,
        clock: Callable[[], float] = time.monotonic,
        *,
        is_quiet: bool = False,
    ) -> None:
        self._stream = stream
        self._is_quiet = is_quiet
        self._clock = clock
        self._started = clock()
        self._shown: tuple[str | None, str, str] | None = None
        self._shown_at = 0.0

    def show(self, line: ProgressLine) -> None:
        """Print one line; without a terminal, lines that only count are printed rarely.

        Why a variant failed is said once, at the end and beside its row: here only that it did.
        """
        is_failure = line.phase == "failed"
        if self._is_quiet or (is_failure and line.variant is None):
            return
        text = f"{line.variant} failed" if is_failure else line.text
        now = self._clock()
        seconds = f"{now - self._started:5.0f} s"
        counts = line.done is not None
        if self._stream.isatty():
            end = "" if counts else "\n"
            rewrite_line(self._stream, f"{seconds}  {text}{end}")
        else:
            key = (line.variant, line.phase, "" if counts else text)
            is_last = counts and line.done == line.total
            if key == self._shown and not is_last and now - self._shown_at < _QUIET_S:
                return
            self._shown, self._shown_at = key, now
            self._stream.write(printable(f"{seconds}  {text}\n"))
        self._stream.flush()
