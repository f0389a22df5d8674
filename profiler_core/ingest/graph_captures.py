"""The traces of graph captures beside a trace that replays the graphs, in `capture_traces/`.

vLLM (`--profiler-config.capture_torch_profiler…`) writes `graph_capture_rank_0.….json.gz` there,
SGLang (`--enable-profile-cuda-graph`) `bs_32_rank0.json.gz`, one for each batch size.
"""

import re
from itertools import islice
from pathlib import Path, PurePosixPath

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import Role
from profiler_core.ingest.kinds import cached_kind, rank_header
from profiler_core.ingest.rank_of import rank_in_name

MOST_CAPTURES = 1000
# graph_capture_rank_0.17737….pt.trace.json.gz, capture_trace_rank_0.json.gz, bs_32_rank0.json.gz
_NAME = re.compile(r"(?:graph_capture|capture_trace)_rank_\d+\b|bs_\d+_rank_?\d+\b")


def is_graph_capture(name: str) -> bool:
    """Is a trace of this name (with its folders) of the capture of graphs, as servers call it?"""
    path = PurePosixPath(name.replace("\\", "/"))
    return path.parent.name == names.GRAPH_CAPTURES or _NAME.match(path.name) is not None


def graph_captures_in(folder: Path, rank: int | None) -> tuple[Path, ...]:
    """The traces of captures of one rank, by name, the first thousand; () without.

    A server captures some hundred batch sizes, and each file is opened by a process of its own.

    Args:
        folder: of the trace that replays.
        rank: whose; a file that says none is of any. None: every capture.
    """
    captures = folder / names.GRAPH_CAPTURES
    if not captures.is_dir():
        return ()
    files = [p for p in sorted(captures.iterdir()) if names.is_text(p.name) and p.is_file()]
    of_rank = (
        path
        for path in files
        if _is_trace(path) and (rank is None or rank_of_trace(path) in (None, rank))
    )
    return tuple(islice(of_rank, MOST_CAPTURES))


def _is_trace(path: Path) -> bool:
    kind = cached_kind(path)
    return kind is not None and kind.role is Role.TRACE


def rank_of_trace(path: Path) -> int | None:
    """The rank that a trace is of, by its head, else by its name; None: neither says it."""
    rank = rank_header(path).rank
    return rank_in_name(path.name) if rank is None else rank
