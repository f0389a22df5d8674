"""Which device a trace was made on, from the trace's own metadata."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from profiler_core.model.trace import Trace


@dataclass(frozen=True)
class Device:
    """What the trace says about its device; None: it does not say."""

    kind: Literal["gpu", "cpu"]
    index: int | None = None
    name: str | None = None
    compute_capability: str | None = None  # "9.0"
    n_multiprocessors: int | None = None
    memory_bytes: int | None = None


def device_of(trace: Trace, index: int | None) -> Device:
    """The device with this number, from `deviceProperties` (torch 1.8 on).

    ROCm counts CPUs among the devices of its events, so that the number may not be listed: the
    device is known all the same where all that are listed are of one name.
    """
    if not trace.has_device_events:
        return Device(kind="cpu")
    properties = trace.metadata.get("deviceProperties")
    listed = properties if isinstance(properties, list) else []
    entries = [entry for entry in listed if isinstance(entry, Mapping)]
    of_one_name = entries if len({str(entry.get("name")) for entry in entries}) == 1 else []
    entry = next(
        (entry for entry in entries if _int(entry.get("id")) == index), next(iter(of_one_name), {})
    )
    major, minor = _int(entry.get("computeMajor")), _int(entry.get("computeMinor"))
    name = entry.get("name")
    return Device(
        kind="gpu",
        index=index,
        name=name if isinstance(name, str) else None,
        compute_capability=None if major is None or minor is None else f"{major}.{minor}",
        n_multiprocessors=_int(entry.get("numSms")),
        memory_bytes=_int(entry.get("totalGlobalMem")),
    )


def _int(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
