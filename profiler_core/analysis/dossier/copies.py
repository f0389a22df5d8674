"""What copies and memsets move, by the bytes that their events tell."""

from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.dossier.launches import kernel_rows
from profiler_core.analysis.dossier.roofline import Traffic
from profiler_core.model.trace import MEMSET, Trace

# Where the bytes go: a copy within the device's memory reads and writes each byte there, a memset
# writes it; the others cross a link.
Way = Literal["within the device", "cleared", "host to device", "device to host", "elsewhere"]

_WAYS: tuple[tuple[str, Way], ...] = (
    ("DtoD", "within the device"),
    ("HtoD", "host to device"),
    ("DtoH", "device to host"),
    ("DeviceToDevice", "within the device"),
    ("HostToDevice", "host to device"),
    ("DeviceToHost", "device to host"),
)
_ON_HOST = ("Pinned", "Pageable", "Host")
_PASSES: dict[Way, int] = {"within the device": 2, "cleared": 1}


@dataclass(frozen=True)
class Copied:
    """Copies or memsets of one name over the profiled steps."""

    way: Way
    n: int
    time_ns: int
    n_bytes: int  # that are copied or set
    largest_bytes: int  # of one of them

    @property
    def traffic(self) -> Traffic | None:
        """What the device's memory moves for them; None where they cross a link."""
        n_passes = _PASSES.get(self.way)
        if n_passes is None:
            return None
        return Traffic(
            n_passes * self.n_bytes, self.time_ns, self.n, self.n, n_passes * self.largest_bytes
        )


def copied(trace: Trace, name: str) -> Copied | None:
    """None where some of their events tell no bytes, or none runs."""
    rows = kernel_rows(trace, name)
    if rows.height == 0 or rows["bytes"].null_count():
        return None
    return Copied(
        way_of(name, is_memset=str(rows["cat"][0]) == MEMSET),
        rows.height,
        int(rows["dur_ns"].sum()),
        int(rows["bytes"].sum()),
        int(rows["bytes"].to_numpy().max()),
    )


def way_of(name: str, *, is_memset: bool) -> Way:
    """By the name that the profiler gives it: "Memcpy HtoD (Pageable -> Device)"."""
    if is_memset:
        return "elsewhere" if any(word in name for word in _ON_HOST) else "cleared"
    return next((way for word, way in _WAYS if word in name), "elsewhere")
