"""The files of one run as they are read: each once, and a problem where it cannot be."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal, TypeVar, cast

import msgspec

from profiler_core.analysis.compilation.compiled_calls import region_ids
from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.recording import TORCH, recorded_by
from profiler_core.analysis.run_labels import own_name
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.telemetry.metrics import Metrics, sampled_metrics
from profiler_core.errors import BadInput, Cancelled, FusionscopeError
from profiler_core.ingest.compile_log.belonging import (
    BelongingLogs,
    LogOrigin,
    TraceOrigin,
    belonging_logs,
    log_origin,
)
from profiler_core.ingest.counters.reader import RunCounters, read_run_counters
from profiler_core.ingest.kept_sources import read_kept_sources
from profiler_core.ingest.telemetry.reader import RunSamples, read_run_samples
from profiler_core.ingest.version import version_of
from profiler_core.model.compilation import CompileLog
from profiler_core.model.inductor import InductorLog
from profiler_core.model.memory_snapshot import MemorySnapshot
from profiler_core.model.run import RunFiles, RunRecord
from profiler_core.model.trace import Trace
from profiler_core.ranks.find import RankFiles, find_ranks, has_ranks
from profiler_core.ranks.job_cache import cache_path
from profiler_core.session.cache import SHARED, Cache
from profiler_core.session.job import job_of_ranks
from profiler_core.session.kept import lasting
from profiler_core.session.rank_clocks import clocks_at
from profiler_core.session.reading import InProcess, Reading

Part = Literal[
    "trace",
    "stacks",
    "graph captures",
    "compile log",
    "generated code",
    "memory snapshot",
    "ranks",
]

T = TypeVar("T")
_FIRST_EPOCH_NS = 10**18  # of 2001: what is less does not count from 1970


@dataclass(frozen=True)
class Problem:
    """A file of a run that is there and cannot be used."""

    part: Part
    problem: str
    remedy: str
    kind: type[FusionscopeError] = BadInput

    def error(self) -> FusionscopeError:
        """The same as an error, for an answer that has nothing else to say."""
        return self.kind(self.problem, remedy=self.remedy)


class RunParts:
    """The contents of a run's files. Each file is read on first use.

    Args:
        files: which files it has, and its record.
        reading: how large files are read; in this process by default.
        cache: who keeps what was read and computed.
    """

    def __init__(
        self, files: RunFiles, *, reading: Reading | None = None, cache: Cache = SHARED
    ) -> None:
        self._files = files
        self._reading: Reading = reading or InProcess()
        self._cache = cache
        self._answers: dict[Hashable, object] = {}
        self._problems: dict[Part, Problem] = {}
        self._version: bytes | None = None

    # Its files

    @property
    def files(self) -> RunFiles:
        """Which files it has."""
        return self._files

    @property
    def record(self) -> RunRecord:
        """Its run.json; only a name where it has none."""
        return self._files.record

    @property
    def path(self) -> Path:
        """The run directory, or the single file."""
        return self._files.path

    @property
    def name(self) -> str:
        """The name to display for the run on its own; never empty."""
        return own_name(self.record, self.path)

    @property
    def version(self) -> bytes:
        """A key that changes whenever the record or one of the files changes, of any rank."""
        if self._version is None:
            described = msgspec.json.encode(self._files, enc_hook=str)
            ranks = self.rank_files
            job = cache_path(ranks, "job") if ranks is not None else None
            states = repr([*(_state(path) for path in _paths(self._files)), job])
            self._version = blake2b(described + states.encode(), digest_size=16).digest()
        return self._version

    # What is read of them; None: absent, or a problem

    @property
    def trace(self) -> Trace | None:
        """The profiled steps, with the captures of the graphs that they replay."""
        trace = self._trace_at("trace", self._files.trace)
        read = [self._trace_at("graph captures", path) for path in self._files.graph_captures]
        captures = tuple(capture for capture in read if capture is not None)
        if trace is None or not captures:
            return trace
        # One object for all who ask: it keeps the tables that analyses derive of it.
        key = ("trace with captures", self.version, len(captures))
        return self._cache.get(key, lambda: replace(trace, graph_captures=captures))

    @property
    def stacks(self) -> Trace | None:
        """The attribution pass, with Python calls; never used for times."""
        return self._trace_at("stacks", self._files.trace_stacks)

    @property
    def logs(self) -> BelongingLogs:
        """Its logs that are of one process; where they are not, of the trace's process."""
        text, structured = self._log_origins
        logs = belonging_logs(text, structured)
        # A trace is large: where the logs agree, what they say needs none.
        return self.logs_of_trace if logs.left_out else logs

    @property
    def logs_of_trace(self) -> BelongingLogs:
        """Its logs that are of the trace's process, and a sentence for each that is not."""
        text, structured = self._log_origins
        tells = any(log.processes or log.began for log in (*text, *structured))
        return belonging_logs(text, structured, self._trace_origin() if tells else None)

    @property
    def _log_origins(self) -> tuple[list[LogOrigin], list[LogOrigin]]:
        files = self._files
        return self._answer(
            "origins",
            lambda: (
                [log_origin(path) for path in files.torch_logs],
                [log_origin(path) for path in files.torch_trace],
            ),
        )

    def _trace_origin(self) -> TraceOrigin | None:
        trace = self.trace
        if trace is None or recorded_by(trace) != TORCH:  # other tools may count processes anew
            return None
        ended = trace.ops["ts_ns"].max()
        return TraceOrigin(
            processes=frozenset(trace.ops["pid"].drop_nulls().unique()),
            ended_ns=(
                trace.origin_ns + ended
                if isinstance(ended, int) and trace.origin_ns > _FIRST_EPOCH_NS
                else None
            ),
            compile_ids=region_ids(trace),
        )

    @property
    def compile_log(self) -> CompileLog | None:
        """What the compiler said."""
        files = self._files
        if not (files.torch_logs or files.torch_trace):
            return None
        return self._lasting("compile log", CompileLog, self._belonging_compile_log)

    def _belonging_compile_log(self) -> CompileLog | None:
        logs = self.logs
        files = msgspec.structs.replace(
            self._files, torch_logs=logs.text, torch_trace=logs.structured
        )
        log = self._read_compile_log(files)
        if log is None or not logs.left_out:
            return log
        return replace(log, warnings=(*logs.left_out, *log.warnings))

    def _read_compile_log(self, files: RunFiles) -> CompileLog | None:
        paths = (*files.torch_logs, *files.torch_trace)
        read = self._reading.compile_log
        # What a log can show also depends on the record: its torch, and what was switched on.
        return self._read(
            "compile log", paths, lambda: read(files), about=("compile log", self.version)
        )

    @property
    def code(self) -> InductorLog | None:
        """Graphs and generated kernels; None too where the logs hold none."""
        paths = self.logs_of_trace.structured
        code = self._read("generated code", paths, lambda: self._reading.code(paths))
        return code if code is not None and code.says_something else None

    @property
    def snapshot(self) -> MemorySnapshot | None:
        """The memory snapshot."""
        path = self._files.memory_snapshot
        if path is None:
            return None
        return self._read(
            "memory snapshot",
            (path,),
            lambda: self._reading.snapshot(path),
            bring=lambda: self._reading.bring_snapshot(path),
        )

    @property
    def samples(self) -> RunSamples:
        """Samples of GPU and process; a damaged file is a problem inside."""
        return self._answer("samples", lambda: read_run_samples(self._files))

    @property
    def metrics(self) -> Metrics:
        """What the profiler sampled of the device while it recorded the trace."""

        def make() -> Metrics | None:
            return None if self.trace is None else sampled_metrics(self.trace)

        return self._lasting("metrics", Metrics, make) or Metrics()

    @property
    def counters(self) -> RunCounters:
        """What Nsight Compute measured; a damaged file is a problem inside."""
        return self._answer("counters", lambda: read_run_counters(self._files))

    @property
    def kept_sources(self) -> Mapping[str, Mapping[int, str]]:
        """{file: {line: text}} that the capture kept; no other file that a log names is opened."""
        path = self._files.sources
        return {} if path is None else self._answer("sources", lambda: read_kept_sources(path))

    @property
    def rank_files(self) -> RankFiles | None:
        """The traces of all ranks of its job; None: it ran as one process."""
        path = self.path

        def ranks() -> RankFiles | None:
            return find_ranks(str(path)) if path.is_dir() and has_ranks(path) else None

        return self._attempt("ranks", "rank files", ranks)

    @property
    def job(self) -> Job | None:
        """What all ranks say together; None: it ran as one process.

        Its critical path is that of the unprofiled step, where the run was timed.
        """
        rank_files = self.rank_files
        if rank_files is None:
            return None
        return self._attempt(
            "ranks",
            "job",
            lambda: (
                job_of_ranks(str(self.path), rank_files, self._reading, self._cache)
                .at_clocks(clocks_at(str(self.path), rank_files))
                .unprofiled(step_time_ns(self.record.measurement))
            ),
        )

    # What is wrong with it

    def problems(self, *parts: Part) -> tuple[Problem, ...]:
        """What cannot be read of these parts."""
        for part in parts:
            self._ask(part)
        return tuple(self._problems[part] for part in parts if part in self._problems)

    @property
    def unreadable(self) -> tuple[Problem, ...]:
        """What could not be read so far: answers that do without it say so."""
        return tuple(self._problems.values())

    # How answers are kept

    def _ask(self, part: Part) -> object:
        """Read a part, so that `problems` has its error if it cannot be read."""
        questions: dict[Part, Callable[[], object]] = {
            "trace": lambda: self.trace,
            "stacks": lambda: self.stacks,
            "graph captures": lambda: self.trace,
            "compile log": lambda: self.compile_log,
            "generated code": lambda: self.code,
            "memory snapshot": lambda: self.snapshot,
            "ranks": lambda: self.job,
        }
        return questions[part]()

    def _trace_at(self, part: Part, path: Path | None) -> Trace | None:
        if path is None:
            return None
        return self._read(
            part,
            (path,),
            lambda: self._reading.trace(path),
            about="trace",
            bring=lambda: self._reading.bring_trace(path),
            question=(part, path),
        )

    def _read(
        self,
        part: Part,
        paths: Sequence[Path],
        read: Callable[[], T],
        *,
        about: Hashable = None,
        bring: Callable[[], None] | None = None,
        question: Hashable = None,
    ) -> T | None:
        """What is read of some files, once for each version of them; None without files."""
        if not paths:
            return None

        def kept() -> T:
            key = (about or part, tuple(paths), tuple(map(version_of, paths)))
            if bring is not None and key not in self._cache:
                bring()
            return self._cache.get(key, read)

        return self._attempt(part, question or part, kept)

    def _attempt(self, part: Part, question: Hashable, ask: Callable[[], T]) -> T | None:
        """The answer, or None and a problem of this run."""
        if question not in self._answers:
            answer = None
            try:
                answer = ask()
            except Cancelled:
                raise
            except FusionscopeError as error:  # not kept itself: it holds frames and open files
                self._problems[part] = Problem(part, error.problem, error.remedy, type(error))
            except OSError as error:
                self._problems[part] = Problem(
                    part,
                    f"The {part} of {self.path} cannot be read: {error.strerror or error}.",
                    "Check that its files are there, and the rights on them.",
                )
            self._answers[question] = answer
        return cast("T | None", self._answers[question])

    def _answer(self, question: Hashable, make: Callable[[], T]) -> T:
        """What is computed of this run; this object asks the cache once."""
        if question not in self._answers:
            self._answers[question] = self._cached(question, make)
        return cast("T", self._answers[question])

    def _lasting(self, question: str, kind: type[T], make: Callable[[], T | None]) -> T | None:
        """An answer that other processes find too, beside the columns of the run's trace."""
        asked = (self._files.trace, self.version, question)
        return lasting(self._cache, asked, kind, make, lambda: not self.unreadable)

    def _cached(self, question: Hashable, make: Callable[[], T]) -> T:
        """The same, once for each version of the run.

        An answer made without an unreadable file is not shared with a process that can read it.
        """
        return self._cache.get(("run", self.version, self.unreadable, question), make)


def _paths(files: RunFiles) -> list[Path]:
    """All files of a run."""
    values = [getattr(files, name) for name in files.__struct_fields__ if name != "path"]
    paths_by_field = [value if isinstance(value, tuple) else (value,) for value in values]
    return [path for paths in paths_by_field for path in paths if isinstance(path, Path)]


def _state(path: Path) -> object:
    try:
        return version_of(path)
    except OSError:  # gone since it was found: reading it says so
        return None
