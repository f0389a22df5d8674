"""Which logs of a run are of one process: a mixture of two processes' logs says what never was.

A run's folder may hold the text log of an attempt that crashed beside the structured log of the one
that went well. Each line of a log names the process that wrote it (from torch 2.5 on; earlier a
thread), and the trace names its own.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.ingest.torch_logs.lines import CHUNK_BYTES, chunks

_PREFIX = re.compile(
    rb"(?m)^[^\n]{0,200}?[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d{3,9} (\d+) [^\n]+?:\d+\]"
)
_RANK = re.compile(r"_rank_\d+_")
_RANK_IN_LINE = re.compile(rb"(?m)^[^\n]{0,60}\[(?:rank|default)\d+\]:")
_LARGEST_PROCESS = 1 << 22  # of Linux; larger numbers are threads
_MOST_CHUNKS = 8  # what a log says of its process, it says in its first megabytes


@dataclass(frozen=True)
class LogOrigin:
    """A log and the processes that wrote it; none where its lines do not say."""

    path: Path
    processes: frozenset[int]
    names_ranks: bool = False  # one of several processes that belong together


@dataclass(frozen=True)
class BelongingLogs:
    """The logs of a run that belong together, and a sentence for each that does not."""

    text: tuple[Path, ...]
    structured: tuple[Path, ...]
    left_out: tuple[str, ...] = ()


def log_origin(path: Path) -> LogOrigin:
    """Who wrote a log. A file that cannot be read has no origin: its reader says what is wrong."""
    processes: set[int] = set()
    ranks = _RANK.search(path.name) is not None
    try:
        for number, chunk in enumerate(chunks(path, Counter(), CHUNK_BYTES)):
            if number == _MOST_CHUNKS:
                break
            processes.update(int(process) for process in set(_PREFIX.findall(chunk)))
            ranks = ranks or _RANK_IN_LINE.search(chunk) is not None
    except BadInput:
        return LogOrigin(path, frozenset())
    return LogOrigin(path, frozenset(p for p in processes if p <= _LARGEST_PROCESS), ranks)


def belonging_logs(
    text: Sequence[LogOrigin],
    structured: Sequence[LogOrigin],
    trace_processes: Collection[int] = (),
) -> BelongingLogs:
    """The logs of the trace's process; without a trace those of the structured log's.

    Logs of several ranks belong together, and what does not say who wrote it is kept.

    Args:
        text: TORCH_LOGS texts.
        structured: TORCH_TRACE logs.
        trace_processes: that the trace has operators of; empty: there is no trace, or it says none.
    """
    of_structured = frozenset[int]().union(*(log.processes for log in structured))
    of_run, whose = frozenset(trace_processes), "the trace"
    if not of_run:
        of_run, whose = of_structured, "the structured log"
    kept: tuple[list[Path], list[Path]] = ([], [])
    left_out = []
    for which, logs in enumerate((text, structured)):
        for log in logs:
            if not (of_run and log.processes) or log.names_ranks or log.processes & of_run:
                kept[which].append(log.path)
            else:
                left_out.append(
                    f"{log.path.name} is left out: it is of process {_numbers(log.processes)}, and "
                    f"{whose} is of process {_numbers(of_run)}. They are of different runs."
                )
    return BelongingLogs(tuple(kept[0]), tuple(kept[1]), tuple(left_out))


def _numbers(processes: Collection[int]) -> str:
    first = sorted(processes)[:3]
    return ", ".join(map(str, first)) + (", …" if len(processes) > len(first) else "")
