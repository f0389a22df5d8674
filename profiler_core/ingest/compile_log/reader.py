"""Reads the compiler's logs: log files, or those of a run, become one CompileLog."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from profiler_core.errors import BadInput
from profiler_core.ingest.compile_log.merge import merge
from profiler_core.ingest.compile_log.visibility import names_in
from profiler_core.ingest.torch_logs.lines import chunks
from profiler_core.ingest.torch_logs.reader import read_torch_logs
from profiler_core.ingest.torch_trace.reader import read_torch_trace
from profiler_core.ingest.torch_trace.records import HEADER
from profiler_core.model.compilation import CompileLog
from profiler_core.model.run import RunFiles


class Reader(Protocol):
    """How log files are read: here, or in another process."""

    def __call__(
        self, paths: Sequence[Path], *, torch_version: str | None, requested: frozenset[str]
    ) -> CompileLog:
        """As `read_compile_log_files`."""


def read_compile_log(run: RunFiles, read: Reader | None = None) -> CompileLog | None:
    """What the compiler said in this run; None where the run has no log at all.

    Args:
        run: as opened.
        read: what reads the files; by default this process.

    Raises:
        BadInput: a log cannot be read.
    """
    paths = (*run.torch_logs, *run.torch_trace)
    version = run.record.environment.get("torch")
    variables = run.record.environment.get("variables")
    setting = variables.get("TORCH_LOGS") if isinstance(variables, dict) else None
    # A Recorder switches them on itself where the variable was not set.
    setting = setting or run.record.environment.get("torch_logs")
    if not paths:
        return None
    return (read or read_compile_log_files)(
        paths,
        torch_version=version if isinstance(version, str) else None,
        requested=names_in(setting if isinstance(setting, str) else None),
    )


def read_compile_log_files(
    paths: Sequence[Path],
    *,
    torch_version: str | None = None,
    requested: frozenset[str] = frozenset(),
) -> CompileLog:
    """Read log files of one run, text and structured ones in any order.

    Raises:
        BadInput: a file cannot be read or is no text, or there is none.
    """
    if not paths:
        raise BadInput(
            "No log file was given.", remedy="Pass a TORCH_LOGS text or a TORCH_TRACE log."
        )
    structured = [path for path in paths if is_structured(path)]
    text = [path for path in paths if path not in structured]
    led = read_torch_trace(structured, torch_version=torch_version) if structured else None
    version = torch_version or (led.torch_version if led else None)
    added = read_torch_logs(text, torch_version=version, requested=requested) if text else None
    if led is not None and added is not None:
        return merge(led, added)
    return led or added or CompileLog()


def is_structured(path: Path) -> bool:
    """True for a TORCH_TRACE log: a glog prefix and then a JSON object, within the first lines."""
    head = next(chunks(path, Counter(), 1 << 16), b"")
    return any(HEADER.match(line) for line in head.split(b"\n")[:50])
