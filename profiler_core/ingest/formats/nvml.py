"""Samples of GPUs, as the capture's sampler writes them: one JSON object per line."""

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import Certainty, FileKind, Role


def _is_it(head: bytes) -> bool:
    first = head.lstrip().split(b"\n", 1)[0]
    return first.startswith(b"{") and b'"t_ns"' in first and b'"gpu_index"' in first


FORMAT = FileKind(
    slug="nvml",
    description="NVML samples",
    plural="NVML samples (.jsonl)",
    role=Role.NVML,
    certainty=Certainty.OWN_KEYS,
    is_it=_is_it,
    stored_as=names.NVML,
    endings=(".jsonl",),
    usual_words=frozenset({"nvml"}),
)
