"""How the files of a run are read: a strategy that a Run is given once.

In this process for the command line, the history and agents. The web process never parses a trace
(decoding JSON holds Python's lock and would freeze every other session): it brings its own, which
starts processes and shows how far they are (`ui/reading.py`).
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from profiler_core.analysis.ranks.job import Job
from profiler_core.ingest.compile_log.reader import read_compile_log
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.memory_snapshot.open import open_snapshot
from profiler_core.ingest.open import open_trace
from profiler_core.model.compilation import CompileLog
from profiler_core.model.inductor import InductorLog
from profiler_core.model.memory_snapshot import MemorySnapshot
from profiler_core.model.run import RunFiles
from profiler_core.model.trace import Trace
from profiler_core.ranks.find import RankFiles
from profiler_core.ranks.job_of import Progress, kept_job

_log = logging.getLogger(__name__)  # shown with --verbose


class Reading(Protocol):
    """Reads what is large. Samples, counters and run.json are small: a Run reads these itself.

    Everything raises BadInput where a file cannot be read.
    """

    def bring_trace(self, path: Path) -> None:
        """Do what has to be done before `trace` answers at once.

        Called outside of the cache, by every session that waits: it may show progress.
        """

    def trace(self, path: Path) -> Trace:
        """The trace in a file."""

    def bring_snapshot(self, path: Path) -> None:
        """As `bring_trace`, for a memory snapshot."""

    def snapshot(self, path: Path) -> MemorySnapshot:
        """The memory snapshot in a file."""

    def compile_log(self, files: RunFiles) -> CompileLog | None:
        """What the compiler said; None without logs."""

    def code(self, paths: Sequence[Path]) -> InductorLog:
        """Graphs and generated kernels in structured logs."""

    def bring_job(self, source: str, rank_files: RankFiles) -> None:
        """As `bring_trace`, for the ranks of a job; `source` is where they lie."""

    def job(self, rank_files: RankFiles) -> Job:
        """What the ranks of a job say together."""


@dataclass(frozen=True)
class InProcess:
    """Reads everything in this process, and ranks in processes below it.

    Args:
        scheduler: address of the Dask cluster that reduces ranks; None: this machine.
        n_processes: for ranks; one a CPU by default.
        progress: of ranks, called with (done, in all); to cancel, raise `Cancelled` in it.
    """

    scheduler: str | None = None
    n_processes: int | None = None
    progress: Progress | None = None

    def bring_trace(self, path: Path) -> None:
        """Nothing: `trace` reads."""

    def trace(self, path: Path) -> Trace:
        """As `open_trace`."""
        _log.info("reads the trace %s", path)
        return open_trace(path)

    def bring_snapshot(self, path: Path) -> None:
        """Nothing: `snapshot` reads."""

    def snapshot(self, path: Path) -> MemorySnapshot:
        """As `open_snapshot`."""
        _log.info("reads the memory snapshot %s", path)
        return open_snapshot(path)

    def compile_log(self, files: RunFiles) -> CompileLog | None:
        """As `read_compile_log`."""
        return read_compile_log(files)

    def code(self, paths: Sequence[Path]) -> InductorLog:
        """As `read_inductor`."""
        _log.info("reads the generated code in %s", ", ".join(map(str, paths)))
        return read_inductor(paths)

    def bring_job(self, source: str, rank_files: RankFiles) -> None:
        """Nothing: `job` reads."""

    def job(self, rank_files: RankFiles) -> Job:
        """As `kept_job`."""
        return kept_job(rank_files, self.scheduler, self.n_processes, self.progress)
