"""The progress lines of a capture: to progress.jsonl, to `--progress FILE`, and to the terminal."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from profiler_core.capture.full_disk import is_full


@dataclass(frozen=True)
class ProgressLine:
    """One line. `t` is s since the epoch; done of total, where a phase can tell."""

    t: float
    phase: str
    variant: str | None
    done: float | None
    total: float | None
    text: str


class ProgressLog:
    """Appends each line to the files and calls the listener; nothing is buffered."""

    def __init__(
        self,
        paths: tuple[Path, ...],
        listener: Callable[[ProgressLine], None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._paths = paths
        self._listener = listener
        self._clock = clock
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)

    def say(
        self,
        phase: str,
        text: str,
        variant: str | None = None,
        done: float | None = None,
        total: float | None = None,
    ) -> None:
        """Append one line; where the disk is full it is shown alone."""
        line = ProgressLine(self._clock(), phase, variant, done, total, text)
        encoded = json.dumps(asdict(line)) + "\n"
        for path in self._paths:
            try:
                with path.open("a", encoding="utf-8") as file:
                    file.write(encoded)
            except OSError as error:
                if not is_full(error):
                    raise
        if self._listener is not None:
            self._listener(line)
