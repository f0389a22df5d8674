"""Samples of GPUs, as the capture's sampler writes them: one JSON object per line."""

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import Certainty, FileKind, Role
from profiler_core.ingest.sniff import first_line_has

FORMAT = FileKind(
    slug="nvml",
    description="NVML samples",
    plural="NVML samples (.jsonl)",
    role=Role.NVML,
    certainty=Certainty.OWN_KEYS,
    is_it=lambda head: first_line_has(head, b'"t_ns"', b'"gpu_index"'),
    stored_as=names.NVML,
    endings=(".jsonl",),
    usual_words=frozenset({"nvml"}),
)
