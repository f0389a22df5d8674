"""The allocator's snapshot: what torch.cuda.memory._dump_snapshot pickles."""

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import Certainty, FileKind, Role


def _is_it(head: bytes) -> bool:
    # Pickle protocol 2 and later opens with PROTO; the dict's first keys name what it is.
    return head[:1] == b"\x80" and (b"segments" in head or b"device_traces" in head)


FORMAT = FileKind(
    slug="memory_snapshot",
    description="a memory snapshot",
    plural="memory snapshots (.pickle)",
    role=Role.MEMORY_SNAPSHOT,
    certainty=Certainty.MAGIC,
    is_it=_is_it,
    stored_as=names.MEMORY_SNAPSHOT,
    also_stored_as=("snapshot.pickle",),
    endings=(".pickle",),
    usual_words=frozenset({"memory", "snapshot"}),
)
