"""What torch's compiler prints with TORCH_LOGS: the stderr of a run, or TORCH_LOGS_OUT."""

import re

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import Certainty, FileKind, Role

# Names of artifacts and of files of torch's compiler, in any of the formats since 2.1.
_LOG = re.compile(
    rb"\[__\w+\]|torch[/\\]_(?:dynamo|inductor|functorch|logging)|torch\._(?:dynamo|inductor)"
    rb"|(?:\[rank\d+\]:)?[VDIWEC]\d{4} \d\d:\d\d:\d\d"
)


def _is_it(head: bytes) -> bool:
    return b"\0" not in head and bool(_LOG.search(head))


FORMAT = FileKind(
    slug="torch_logs",
    description="a TORCH_LOGS text",
    plural="TORCH_LOGS text (.txt, .log)",
    role=Role.TORCH_LOGS,
    certainty=Certainty.WORDS,
    is_it=_is_it,
    stored_as=names.TORCH_LOGS,
    endings=(".txt", ".log"),
    usual_words=frozenset({"torch", "log", "logs"}),
)
