"""The structured log of torch's compiler (TORCH_TRACE)."""

import re

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import Certainty, FileKind, Role

# glog prefix, then a JSON object: torch._logging._internal, trace_structured.
_RECORD = re.compile(rb"^(?:\[rank\d+\]:)?[VDIWEC]\d{4} [\d:.]+ \d+ \S+:\d+\] \{\"", re.M)
_LOOK_AT_BYTES = 64 << 10


def _is_it(head: bytes) -> bool:
    return bool(_RECORD.search(head[:_LOOK_AT_BYTES]))


FORMAT = FileKind(
    slug="torch_trace",
    description="a TORCH_TRACE log",
    plural="TORCH_TRACE logs (.log)",
    role=Role.TORCH_TRACE,
    certainty=Certainty.LINES,
    is_it=_is_it,
    stored_as=names.TORCH_TRACE,
    also_stored_as=("torch_trace.log",),
    several=True,
    endings=(".log",),
    usual_words=frozenset({"torch", "trace", "log"}),
)
