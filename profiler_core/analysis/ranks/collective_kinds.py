"""Collectives by the names that torch and NCCL give them, with what each moves.

Bus bandwidth is algorithm bandwidth times a factor of the number of ranks n, so that it can be
held against the links' (nccl-tests, doc/PERFORMANCE.md). "Algorithm" bytes are the larger of what
goes in and what comes out of a rank, as nccl-tests counts them.
"""

import re

# torch's "Collective name" (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, RECORD_PARAM_COMMS)
# or a kernel's name -> kind. The first that is found in the lower-case name holds.
_KINDS: tuple[tuple[str, str], ...] = (
    (r"reduce_?scatter", "reduce_scatter"),
    (r"all_?gather", "all_gather"),
    (r"all_?reduce", "all_reduce"),
    (r"all_?to_?all", "all_to_all"),
    (r"broadcast", "broadcast"),
    (r"barrier", "barrier"),
    (r"send_?recv", "send_recv"),
    (r"\bsend\b", "send"),
    (r"\brecv\b", "recv"),
    (r"scatter", "scatter"),
    (r"gather", "gather"),
    (r"reduce", "reduce"),
)
LABELS: dict[str, str] = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "all_to_all": "all-to-all",
    "broadcast": "broadcast",
    "barrier": "barrier",
    "send_recv": "send and receive",
    "send": "send",
    "recv": "receive",
    "scatter": "scatter",
    "gather": "gather",
    "reduce": "reduce",
    "other": "other",
}
# In these, somebody waits for one other rank, not each for all.
POINT_TO_POINT = frozenset({"send", "recv", "send_recv"})

# c10::ScalarType names, as torch prints them.
DTYPE_BYTES: dict[str, int] = {
    "Byte": 1, "Char": 1, "Bool": 1, "QInt8": 1, "QUInt8": 1,
    "Float8_e5m2": 1, "Float8_e4m3fn": 1, "Float8_e5m2fnuz": 1, "Float8_e4m3fnuz": 1,
    "Half": 2, "BFloat16": 2, "Short": 2, "UInt16": 2,
    "Float": 4, "Int": 4, "UInt32": 4, "ComplexHalf": 4,
    "Double": 8, "Long": 8, "UInt64": 8, "ComplexFloat": 8,
    "ComplexDouble": 16,
}  # fmt: skip


def plural(label: str) -> str:
    """Several of a kind by its label: "all-reduces", "sends and receives"."""
    return label.replace(" ", "s ", 1) + "s"


def kind_of(name: str) -> str:
    """The kind of a collective by torch's name or by the kernel's; "other" where none fits."""
    lower = name.lower()
    return next((kind for pattern, kind in _KINDS if re.search(pattern, lower)), "other")


def bus_factor(kind: str, n_ranks: int) -> float | None:
    """Bus bandwidth / algorithm bandwidth; None where that says nothing."""
    if n_ranks < 2:
        return None
    if kind == "all_reduce":
        return 2 * (n_ranks - 1) / n_ranks
    if kind in ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"):
        return (n_ranks - 1) / n_ranks
    return 1.0 if kind in ("broadcast", "reduce", *POINT_TO_POINT) else None
