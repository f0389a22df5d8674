"""Samples of the process that computed, beside those of the GPUs: one JSON object a line."""

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import Certainty, FileKind, Role


def _is_it(head: bytes) -> bool:
    first = head.lstrip().split(b"\n", 1)[0]
    return first.startswith(b"{") and b'"t_ns"' in first and b'"cpu_ns"' in first


FORMAT = FileKind(
    slug="host",
    description="process samples",
    plural="process samples (.jsonl)",
    role=Role.HOST,
    certainty=Certainty.OWN_KEYS,
    is_it=_is_it,
    stored_as=names.HOST,
    endings=(".jsonl",),
)
