"""The sentences of the dossier of a copy or a memset."""

from profiler_core.analysis.dossier.copies import Copied, Way
from profiler_core.analysis.dossier.roofline import Roofline
from profiler_core.analysis.span import Span
from profiler_core.units import format_bytes, format_duration

_WHAT: dict[Way, str] = {
    "within the device": "copy within the device's memory",
    "cleared": "memset of the device's memory",
    "host to device": "copy from the host to the device",
    "device to host": "copy from the device to the host",
    "elsewhere": "copy",
}
READS_AND_WRITES = "A copy within the device's memory reads and writes each byte: both count."
_LITTLE = 0.1  # of the memory's peak: what a call takes has another reason
_SHORT_NS = 10_000  # what a single call takes at the most, where starting it is most of that


def what_copies(way: Way) -> str:
    """What it is, as a sentence begins with it."""
    return _WHAT[way]


def over_a_link(label: str, copied: Copied, n_steps: int, span: Span) -> str:
    """What crosses a link, and how fast."""
    rate = copied.n_bytes / (copied.time_ns * 1e-9) if copied.time_ns else None
    speed = f": {format_bytes(rate)}/s" if rate is not None else ""
    return (
        f"In {label} {format_bytes(copied.n_bytes / n_steps)} {span} in "
        f"{format_duration(copied.time_ns / n_steps)}{speed}; the peak of the link is not known."
    )


def why_slow(line: Roofline, copied: Copied) -> str:
    """That calls of few bytes take what any call takes; "" where the memory has more to do."""
    share = line.memory_share
    mean_ns = copied.time_ns / copied.n
    if share is None or share >= _LITTLE or mean_ns > _SHORT_NS:
        return ""
    need_ns = share * mean_ns
    needed = format_duration(need_ns) if need_ns >= 1 else "less than 1 ns"
    return (
        f"In {line.label} a call is of {format_bytes(copied.n_bytes / copied.n)} and takes "
        f"{format_duration(mean_ns)}, of which its bytes need {needed} at the memory's peak: the "
        "rest any call takes, however small. Fewer calls help."
    )


def without_bytes(label: str) -> str:
    """Why there is no bandwidth."""
    return f"How much it moves is not known: the trace of {label} tells no bytes of it."
