"""A .zip of a run, of a trace, or of several files."""

from profiler_core.ingest.file_kind import Certainty, FileKind, Role
from profiler_core.ingest.sniff import Packing, packing_of


def _is_it(head: bytes) -> bool:
    return packing_of(head[:8]) is Packing.ZIP


FORMAT = FileKind(
    slug="zip_archive",
    description="a zip archive",
    plural="zip archives",
    role=Role.ARCHIVE,
    certainty=Certainty.MAGIC,
    is_it=_is_it,
    endings=(),
)
