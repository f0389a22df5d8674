"""The binary report of Nsight Systems, a format that only nsys reads."""

from profiler_core.ingest.file_kind import Certainty, FileKind, Role


def _is_it(head: bytes) -> bool:
    # .nsys-rep, and .qdrep before 2021.4.
    return head.startswith(b"NVIDIA Tegra Profiler Report")


FORMAT = FileKind(
    slug="nsight_report",
    description="a binary report of Nsight Systems",
    plural="binary reports of Nsight Systems",
    role=Role.NOT_READ,
    certainty=Certainty.MAGIC,
    is_it=_is_it,
    remedy="Export it, and pass the .sqlite: nsys export --type sqlite report.nsys-rep",
)
