"""The raw page of Nsight Compute (`ncu --csv --page raw`)."""

import re

from profiler_core import run_directory as names
from profiler_core.ingest.file_kind import Certainty, FileKind, Role

# Quoted as ncu prints it, or bare after a spreadsheet.
_HEADER = re.compile(rb'^\xef?\xbb?\xbf?"?ID"?,.*\bKernel Name"?,', re.M)


def _is_it(head: bytes) -> bool:
    # The header follows lines of ==PROF== and of the program.
    return bool(_HEADER.search(head))


FORMAT = FileKind(
    slug="nsight_compute",
    description="an Nsight Compute CSV",
    plural="raw pages of Nsight Compute (.csv)",
    role=Role.COUNTERS,
    certainty=Certainty.LINES,
    is_it=_is_it,
    stored_as=names.COUNTERS,
    endings=(".csv",),
    usual_words=frozenset({"ncu"}),
)
