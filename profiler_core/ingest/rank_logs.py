"""The compiler's logs of one rank among the files of a job that somebody copied together.

torch names the rank in the name of a structured log (`dedicated_log_torch_trace_rank_1_….log`);
launchers name it in the name of a text or of a folder. A log whose name says no rank may be of any:
it is kept for each, and `compile_log.belonging` drops what is of another process than the trace.
"""

from collections.abc import Iterator
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import Role
from profiler_core.ingest.kinds import cached_kind
from profiler_core.ingest.rank_of import rank_in_name


def logs_of_rank(folder: Path, rank: int) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Its TORCH_LOGS texts and its TORCH_TRACE logs; only heads of files are read.

    Args:
        folder: with the traces of all ranks, or with a folder for each of them.
        rank: whose.
    """
    by_role: dict[Role, list[Path]] = {Role.TORCH_LOGS: [], Role.TORCH_TRACE: []}
    for path in _files_below(folder):
        named = rank_in_name(path.relative_to(folder).as_posix())
        if named is not None and named != rank:
            continue
        kind = cached_kind(path)
        if kind is not None and kind.role in by_role:
            by_role[kind.role].append(path)
    return tuple(by_role[Role.TORCH_LOGS]), tuple(by_role[Role.TORCH_TRACE])


def _files_below(folder: Path) -> Iterator[Path]:
    """Its files, and those of its folders that a rank or the structured log is named by."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "__MACOSX")):
            continue
        if path.is_file():
            yield path
        elif path.name == names.TORCH_TRACE or rank_in_name(path.name) is not None:
            yield from _files_below(path)
