"""Samples of the process that computed, beside those of the GPUs: one JSON object a line."""

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import Certainty, FileKind, Role
from profiler_core.ingest.sniff import first_line_has

FORMAT = FileKind(
    slug="host",
    description="process samples",
    plural="process samples (.jsonl)",
    role=Role.HOST,
    certainty=Certainty.OWN_KEYS,
    is_it=lambda head: first_line_has(head, b'"t_ns"', b'"cpu_ns"'),
    stored_as=names.HOST,
    endings=(".jsonl",),
)
