"""run.json: what a capture writes of itself."""

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import Certainty, FileKind, Role


def _is_it(head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and b'"schema_version"' in head and b'"run_id"' in head


FORMAT = FileKind(
    slug="run_record",
    description="a run.json",
    plural="run.json files",
    role=Role.RECORD,
    certainty=Certainty.OWN_KEYS,
    is_it=_is_it,
    stored_as=names.RUN_JSON,
)
