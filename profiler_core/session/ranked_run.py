"""A run that may be a job of ranks: which of its ranks stands for it, and the trace of that one."""

from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.ranks.job_summary import of_one_rank
from profiler_core.analysis.ranks.rank_compiling import RankCompiling, compiling_of_ranks
from profiler_core.analysis.ranks.rank_summary import distributed_info, whole
from profiler_core.analysis.ranks.share_beside import share_of, shares_beside
from profiler_core.analysis.ranks.waiting import RankCost, as_it_costs, recorded_rows
from profiler_core.analysis.wording.ranks import of_all_ranks
from profiler_core.ingest.run import open_rank
from profiler_core.model.compilation import CompileLog
from profiler_core.model.run import RunFiles
from profiler_core.model.trace import Trace
from profiler_core.ranks.remote import is_url
from profiler_core.session.parts import RunParts


class RankedRun(RunParts):
    """The parts of a run, of a job those of each rank."""

    _own_rank: int | None = None  # of its job that is shown, where a comparison wants another

    def of_rank(self, rank: int) -> Self | None:
        """A rank of its job as a run of its own, with its own logs; None: it has no local file."""
        files = self.rank_files.files if self.rank_files is not None else ()
        location = next((file.location for file in files if file.rank == rank), None)
        if location is None or is_url(location):
            return None
        if self._files.trace is not None and Path(location) == self._files.trace:
            return self
        rank_files = open_rank(self._files, rank, Path(location))
        return self.read_alike(rank_files)

    def read_alike(self, files: RunFiles) -> Self:
        """Another run, read as this one is and kept where this one is."""
        return type(self)(files, reading=self._reading, cache=self._cache)

    def with_rank(self, rank: int) -> Self:
        """The same job with the kernels, logs and groups of another rank; its times stay.

        Args:
            rank: one of `Job.costs`.
        """
        if rank == self.shown_rank:
            return self
        made = self.read_alike(self._files)
        made._own_rank = rank
        return made

    @property
    def version(self) -> bytes:
        """A key that changes whenever a file changes, or the rank that is shown."""
        version = super().version
        return version if self._own_rank is None else version + f" {self._own_rank}".encode()

    @property
    def shown_rank(self) -> int | None:
        """The rank of its job whose kernels, logs and groups are shown; None without a job."""
        job = self.job
        if job is None or job.critical is None:
            return None
        return job.critical.shown if self._own_rank is None else self._own_rank

    @property
    def shown(self) -> Self:
        """That rank as a run of its own; itself without a job."""
        rank = self.shown_rank
        return (None if rank is None else self.of_rank(rank)) or self

    @property
    def alone_note(self) -> str:
        """That its times are one rank's of several; "" of one process, and along a critical path.

        Ranks on CPUs have no critical path: who waits for whom there is told beside it.
        """
        if self.trace is None or self.shown_rank is not None:
            return ""
        own, n_ranks = self.rank_of_job
        return "" if n_ranks == 1 else of_one_rank(own, n_ranks, of_all_ranks(self.job))

    @property
    def rank_of_job(self) -> tuple[int, int]:
        """(Its rank, of how many), by its trace, else by its record; (0, 1): one process."""
        described = distributed_info(self.trace) if self.trace is not None else {}
        n_ranks = max(self.record.world_size, whole(described.get("world_size")) or 1)
        rank = whole(described.get("rank"))
        return (self.record.rank if rank is None else rank), n_ranks

    @property
    def worked_trace(self) -> Trace | None:
        """Its trace; of a job the shown rank's, as its work costs alone (`as_it_costs`)."""
        rank = self.shown_rank
        if self.trace is None or rank is None:
            return self.trace
        return self.worked_trace_of(rank) or self.trace

    def worked_trace_of(self, rank: int) -> Trace | None:
        """The trace of a rank of its job, as its work costs alone; None: it is not read for that.

        Args:
            rank: one of `Job.costs`.
        """
        cost, run = self._cost_of(rank), self.of_rank(rank)
        trace = run.trace if run is not None else None
        if trace is None or cost is None:
            return None
        if rank != self.shown_rank:  # asked for once
            return as_it_costs(trace, cost)
        return self._answer("worked trace", lambda: as_it_costs(trace, cost))

    def recorded_row(self, table: str, row: int) -> int:
        """The row that an event of `worked_trace` has in the file of the rank that is shown.

        Args:
            table: of the trace.
            row: in that table of `worked_trace`.
        """
        rows = self._recorded_rows
        return row if table != "device" or rows is None else int(rows[row])

    def worked_row(self, table: str, row: int) -> int:
        """The row in `worked_trace` of an event of that file; the other way round."""
        rows = self._recorded_rows
        if table != "device" or rows is None:
            return row
        return int((rows == row).arg_max() or 0)

    def share_beside(self, rows: npt.NDArray[np.integer]) -> float:
        """The share of the time of kernels that lies beside collectives, their cost unknown.

        Its threshold is `is_cost_unknown`'s; 0 without a job, and where what they cost is known.

        Args:
            rows: of device events in `worked_trace`.
        """
        trace, shares = self.worked_trace, self._shares_beside
        return 0.0 if trace is None or shares is None else share_of(rows, shares, trace)

    @property
    def _shares_beside(self) -> npt.NDArray[np.float64] | None:
        """`shares_beside` in the order of `worked_trace`; None: no collective runs in it."""
        cost, trace = self._cost_of(self.shown_rank), self.shown.trace
        recorded = self._recorded_rows
        if cost is None or trace is None or recorded is None:
            return None
        shares: npt.NDArray[np.float64] = self._answer(
            "shares beside", lambda: shares_beside(trace, cost)[recorded.to_numpy()]
        )
        return shares

    @property
    def _recorded_rows(self) -> pl.Series | None:
        """None: the trace is as it was recorded."""
        cost, trace = self._cost_of(self.shown_rank), self.shown.trace
        if cost is None or trace is None or not trace.has_device_events:
            return None
        return self._answer("recorded rows", lambda: recorded_rows(trace, cost))

    def _cost_of(self, rank: int | None) -> RankCost | None:
        costs = self.job.costs if self.job is not None else ()
        return next((cost for cost in costs if cost.rank == rank), None)

    @property
    def compiling_by_rank(self) -> tuple[RankCompiling, ...]:
        """What compiling cost each rank of its job, by their own logs; () without."""
        job, files = self.job, self.rank_files
        if job is None or files is None:
            return ()
        logs: dict[int, CompileLog | None] = {}
        for cost in job.costs:
            rank = self.of_rank(cost.rank)
            logs[cost.rank] = rank.compile_log if rank is not None else None
        return compiling_of_ranks(logs, job.costs)
