"""Which logs of a run are of one process: a mixture of two processes' logs says what never was.

A run's folder may hold the text log of an attempt that crashed beside the structured log of the one
that went well. Each line of a log names the process that wrote it (from torch 2.5 on; earlier a
thread) and the time on the clock of its machine, and the trace names its own. In a container every
run may be process 1, so times and compile ids have to agree too. No log and no trace names a host.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.ingest.torch_logs.lines import CHUNK_BYTES, chunks

# Its first character stands in front of both kinds: so the others are stepped over at once.
_PREFIX = re.compile(
    rb"[VDIWEC\[](?:(?<!\[)(?P<date>\d{4}) (?P<time>\d\d:\d\d:\d\d)\.\d{3,9} "
    rb"(?P<process>\d{1,18}) [^\n]+?:\d+\]"
    rb"|(?<=\[)\d{4}-(?P<month>\d\d)-(?P<day>\d\d) (?P<at>\d\d:\d\d:\d\d),\d{3}\] )"
)
_LATEST_PREFIX, _LATEST_RANK = 200, 60  # bytes of a line in front of them
_RANK = re.compile(r"_rank_\d+_")
_RANK_IN_LINE = re.compile(rb"\[(?:rank|default)\d+\]:")
_COMPILE_ID = re.compile(rb'"frame_id": (\d+), "frame_compile_id": (\d+)')
_EPOCH = re.compile(rb'"ts": (\d{16})')  # microseconds, of a structured log's first event
_LARGEST_PROCESS = 1 << 22  # of Linux; larger numbers are threads
_MOST_CHUNKS = 8  # what a log says of its process, it says in its first megabytes
_YEAR = 2000  # a log's lines have none
_QUARTER = timedelta(minutes=15)  # time zones differ by as much
_FARTHEST_ZONE = timedelta(hours=14)
_SLACK = timedelta(minutes=1)


@dataclass(frozen=True)
class LogOrigin:
    """A log and the processes that wrote it; none where its lines do not say."""

    path: Path
    processes: frozenset[int]
    names_ranks: bool = False  # one of several processes that belong together
    began: datetime | None = None  # of its first line, by its machine's clock, in no year
    ended: datetime | None = None  # None: not known, too large a log is not read to its end
    zone: timedelta | None = None  # that clock less UTC, where the log has both
    compile_ids: frozenset[str] = frozenset()  # empty where the log is not read to its end


@dataclass(frozen=True)
class TraceOrigin:
    """What a trace says of its process; empty where it says nothing, or there is no trace."""

    processes: Collection[int] = ()
    ended_ns: int | None = None  # since 1970
    compile_ids: Collection[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class BelongingLogs:
    """The logs of a run that belong together, and a sentence for each that does not."""

    text: tuple[Path, ...]
    structured: tuple[Path, ...]
    left_out: tuple[str, ...] = ()


def log_origin(path: Path) -> LogOrigin:
    """Who wrote a log, and when. A file that cannot be read has no origin: its reader says why."""
    processes: set[int] = set()
    ids: set[str] = set()
    times: list[datetime] = []
    zone: timedelta | None = None
    ranks, is_whole = _RANK.search(path.name) is not None, True
    try:
        for number, chunk in enumerate(chunks(path, Counter(), CHUNK_BYTES)):
            if number == _MOST_CHUNKS:
                is_whole = False
                break
            lines = list(_prefixes(chunk))
            processes.update(int(p) for p in {line["process"] for line in lines} - {None})
            times += [at for at in map(_when, lines[:1] + lines[-1:]) if at is not None]
            ids.update(f"{a.decode()}/{b.decode()}" for a, b in set(_COMPILE_ID.findall(chunk)))
            ranks = ranks or _names_ranks(chunk)
            if number == 0 and times:
                zone = _zone(times[0], chunk)
    except BadInput:
        return LogOrigin(path, frozenset())
    began, ended = (times[0], times[-1]) if times else (None, None)
    if began is not None and ended is not None and ended < began:  # a night of New Year
        began = ended = None
    return LogOrigin(
        path,
        frozenset(p for p in processes if p <= _LARGEST_PROCESS),
        ranks,
        began,
        ended if is_whole else None,
        zone,
        frozenset(ids) if is_whole else frozenset(),
    )


def _prefixes(chunk: bytes) -> Iterator[re.Match[bytes]]:
    """The first of each line, but of those that begin with a tab: payloads of structured events."""
    line = -1
    for match in _PREFIX.finditer(chunk):
        begin = chunk.rfind(b"\n", 0, match.start()) + 1
        if begin == line:
            continue
        line = begin
        if match.start() - begin <= _LATEST_PREFIX and chunk[begin : begin + 1] != b"\t":
            yield match


def _names_ranks(chunk: bytes) -> bool:
    return any(
        match.start() - chunk.rfind(b"\n", 0, match.start()) - 1 <= _LATEST_RANK
        for match in _RANK_IN_LINE.finditer(chunk)
    )


def _when(line: re.Match[bytes]) -> datetime | None:
    date, time = line["date"] or line["month"] + line["day"], line["time"] or line["at"]
    try:
        return datetime.strptime(f"{_YEAR}{date.decode()} {time.decode()}", "%Y%m%d %H:%M:%S")
    except ValueError:  # of another program, that only looks like it
        return None


def _zone(at: datetime, chunk: bytes) -> timedelta | None:
    epoch = _EPOCH.search(chunk)
    if epoch is None:
        return None
    ahead = at - _clock(int(epoch[1]) * 1000)
    zone = _QUARTER * round(ahead / _QUARTER)
    return zone if abs(ahead - zone) <= _SLACK and abs(zone) <= _FARTHEST_ZONE else None


def _clock(ns: int) -> datetime:
    """UTC, in no year; its beginning for a moment that no calendar has."""
    try:
        return datetime.fromtimestamp(ns // 10**9, UTC).replace(year=_YEAR, tzinfo=None)
    except (OverflowError, ValueError, OSError):
        return datetime(_YEAR, 1, 1)


def belonging_logs(
    text: Sequence[LogOrigin], structured: Sequence[LogOrigin], trace: TraceOrigin | None = None
) -> BelongingLogs:
    """The logs of the trace's process; without a trace those of the structured log's.

    Logs of several ranks belong together, and what does not say who wrote it, or when, is kept.

    Args:
        text: TORCH_LOGS texts.
        structured: TORCH_TRACE logs.
        trace: where there is one.
    """
    trace = trace or TraceOrigin()
    of_run, whose = frozenset(trace.processes), "the trace"
    if not of_run:
        of_run = frozenset[int]().union(*(log.processes for log in structured))
        whose = "the structured log"
    zone = next((log.zone for log in structured if log.zone is not None), None)
    kept: tuple[list[LogOrigin], list[LogOrigin]] = ([], [])
    left_out = []
    for which, logs in enumerate((text, structured)):
        for log in logs:
            reason = (
                _of_other_process(log, of_run, whose)
                or _is_later(log, trace, zone)
                or _knows_other_graphs(log, trace)
            )
            if reason:
                left_out.append(_sentence(log, reason))
            else:
                kept[which].append(log)
    for log, reason in (*_of_earlier_runs(kept[1]), *_at_other_times(*kept)):
        left_out.append(_sentence(log, reason))
        for logs in kept:
            logs[:] = [other for other in logs if other is not log]
    return BelongingLogs(
        tuple(log.path for log in kept[0]), tuple(log.path for log in kept[1]), tuple(left_out)
    )


def _sentence(log: LogOrigin, reason: str) -> str:
    return f"{log.path.name} is left out: {reason}. They are of different runs."


def _of_other_process(log: LogOrigin, of_run: frozenset[int], whose: str) -> str:
    if not (of_run and log.processes) or log.names_ranks or log.processes & of_run:
        return ""
    return (
        f"it is of process {_numbers(log.processes)}, and {whose} is of process {_numbers(of_run)}"
    )


def _is_later(log: LogOrigin, trace: TraceOrigin, zone: timedelta | None) -> str:
    """A log that begins when the trace is over says nothing of it."""
    if log.began is None or trace.ended_ns is None:
        return ""
    ended = _clock(trace.ended_ns)
    ahead = log.zone if log.zone is not None else zone
    if log.began - (_FARTHEST_ZONE if ahead is None else ahead) <= ended + _SLACK:
        return ""
    zone_said = "UTC" if ahead is None else "on the same clock"
    return (
        f"it begins on {_at(log.began)}, and the trace had ended on "
        f"{_at(ended + (ahead or timedelta()))} {zone_said}"
    )


def _knows_other_graphs(log: LogOrigin, trace: TraceOrigin) -> str:
    """A whole log has every compilation of its process."""
    unknown = frozenset(trace.compile_ids) - log.compile_ids
    if not log.compile_ids or log.names_ranks or 2 * len(unknown) <= len(trace.compile_ids):
        return ""
    first = ", ".join(sorted(unknown)[:3])
    return f"it has no compilation {first}, which the trace ran"


def _of_earlier_runs(structured: Sequence[LogOrigin]) -> Iterator[tuple[LogOrigin, str]]:
    """A process writes one structured log: of several of one process, the last is the trace's."""
    for log in structured:
        for other in structured:
            if (
                log.processes & other.processes
                and not (log.names_ranks or other.names_ranks)
                and log.ended is not None
                and other.began is not None
                and log.ended < other.began
            ):
                yield (
                    log,
                    f"it is of process {_numbers(log.processes)} as {other.path.name} is, and "
                    f"ended on {_at(log.ended)}, before that began on {_at(other.began)}",
                )
                break


def _at_other_times(
    text: Sequence[LogOrigin], structured: Sequence[LogOrigin]
) -> Iterator[tuple[LogOrigin, str]]:
    """Both logs are written while it compiles, so of one run they overlap."""
    for log in text:
        apart = [reason for other in structured if (reason := _apart(log, other))]
        if apart and len(apart) == len(structured):
            yield log, apart[0]


def _apart(log: LogOrigin, other: LogOrigin) -> str:
    if log.names_ranks or other.names_ranks or log.began is None or other.began is None:
        return ""
    if log.ended is not None and log.ended + _SLACK < other.began:
        return f"it ended on {_at(log.ended)}, and the structured log began on {_at(other.began)}"
    if other.ended is not None and other.ended + _SLACK < log.began:
        return f"it begins on {_at(log.began)}, and the structured log ended on {_at(other.ended)}"
    return ""


def _at(when: datetime) -> str:
    return f"{when:%m-%d at %H:%M:%S}"


def _numbers(processes: Collection[int]) -> str:
    first = sorted(processes)[:3]
    return ", ".join(map(str, first)) + (", …" if len(processes) > len(first) else "")
