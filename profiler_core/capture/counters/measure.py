"""One step of a variant under Nsight Compute -> counters.csv, or the sentence why there is none."""

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiler_core.capture.counters.command import ENVIRONMENT, ncu_words
from profiler_core.capture.counters.tool import Tool
from profiler_core.capture.counters.trouble import trouble
from profiler_core.capture.process import Child, ChildFailure

# With --csv ncu says nothing while it measures, at 0.3 s a kernel: a step of 10 000 is no hang yet.
STANDSTILL_S = 3600.0
_LOOK_EVERY_S = 0.1
# Unmeasured steps before: CUDA graphs are recorded in the third call.
_WARM_UP_STEPS = 5

_TABLE = re.compile(rb'^"ID",.*"Kernel Name"', re.MULTILINE)
_ROW = re.compile(rb'^"\d+",', re.MULTILINE)


@dataclass(frozen=True)
class Counted:
    """The result of the counters pass. problem: why there is no table, with the remedy."""

    tool: str
    n_kernels: int
    n_steps: int
    seconds: float
    problem: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """`measurement.counters` of run.json."""
        return {
            "tool": self.tool,
            "n_kernels": self.n_kernels,
            "n_steps": self.n_steps,
            "seconds": round(self.seconds, 3),
            "problem": self.problem,
        }


def under_ncu(tool: Tool, work: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command that precedes the interpreter, and further environment variables."""
    return ncu_words(tool.path, log_of(work)), dict(ENVIRONMENT)


def log_of(work: Path) -> Path:
    """The file that ncu writes its log and its table to."""
    return work / "ncu.csv"


def measure(
    tool: Tool,
    start: Callable[[], Child],
    work: Path,
    table: Path,
    *,
    look: Callable[[], None] = lambda: None,
    standstill_s: float = STANDSTILL_S,
) -> Counted:
    """Measure one step of each shape; the table is put into its place whole, or not at all.

    Args:
        tool: whose words `start` puts before the interpreter.
        start: starts the child with the compiler's caches full.
        work: holds ncu's log until the capture ends.
        table: where the table goes.
        look: called often; raises to cancel.
        standstill_s: without any sign of life for so long, it is ended.
    """
    started = time.monotonic()
    log = log_of(work)
    log.unlink(missing_ok=True)
    n_steps = 0
    sentence: str | None = None
    child: Child | None = None
    try:
        child = start()
        watch = _Watch(log, look, standstill_s)
        for command, fields in _COMMANDS:
            child.tell(command, **fields)
            result = watch.until(lambda: child.poll(_LOOK_EVERY_S, watch.heard))
        n_steps = int(result["n_steps"])
        child.leave()
        watch.until(lambda: child.has_ended(_LOOK_EVERY_S) or None)  # it prints the table last
    except ChildFailure as failure:
        sentence = failure.sentence
    except OSError as error:
        sentence = f"{tool.path} cannot be started: {error.strerror}."
    finally:
        if child is not None:
            child.kill()
    output = log.read_bytes() if log.is_file() else b""
    n_kernels = len(_ROW.findall(output)) if _TABLE.search(output) else 0
    problem = None
    if sentence is not None or not n_kernels:
        # ncu's own message is more exact than the child's.
        problem = trouble(output.decode("utf-8", "replace")) or sentence or _NOTHING
    else:
        _put(log, table)
    seconds = time.monotonic() - started
    return Counted(tool.title, 0 if problem else n_kernels, n_steps, seconds, problem)


def _put(log: Path, table: Path) -> None:
    """Whole or not at all, from another file system too."""
    beside = table.with_name(f".{table.name}")
    shutil.copyfile(log, beside)
    beside.replace(table)


_NOTHING = "Nsight Compute ended without a table. Run it by hand to see what it says."
_COMMANDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("load", {}),
    ("build", {}),
    ("first_call", {}),
    (
        "warm_up",
        {"floor_steps": _WARM_UP_STEPS, "ceiling_steps": _WARM_UP_STEPS, "ceiling_seconds": 0.0},
    ),
    ("counted", {}),
)


class _Watch:
    """Waits for the child; a pass hangs when neither the log grows nor the child reports."""

    def __init__(self, log: Path, look: Callable[[], None], standstill_s: float) -> None:
        self._log, self._look, self._standstill_s = log, look, standstill_s
        self._size = 0
        self._alive_at = time.monotonic()

    def heard(self, _: dict[str, Any]) -> None:
        """Note an event of the child as a sign of progress."""
        self._alive_at = time.monotonic()

    def until(self, poll: Callable[[], Any]) -> Any:
        """The first result of `poll` that is not None.

        Raises:
            ChildFailure: the child failed, or nothing moves any more.
        """
        self._alive_at = time.monotonic()
        while (answer := poll()) is None:
            self._look()
            self._see()
            if time.monotonic() - self._alive_at > self._standstill_s:
                raise ChildFailure(
                    "killed",
                    f"Nsight Compute gave no sign of life for {self._standstill_s:.0f} s.",
                    "Measure a smaller model, or leave the counters out.",
                )
        return answer

    def _see(self) -> None:
        size = self._log.stat().st_size if self._log.is_file() else 0
        if size != self._size:
            self._size = size
            self._alive_at = time.monotonic()
