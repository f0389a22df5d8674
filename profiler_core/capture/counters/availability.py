"""Checks that a capture can measure counters here, before anything is started."""

from profiler_core.capture.counters.tool import INSTALL, NOT_HERE, Tool, find_tool
from profiler_core.errors import CaptureFailed


def counters_tool(device: str) -> Tool:
    """The tool that measures counters on this device.

    Raises:
        CaptureFailed: the device has no counters, or nothing here can read them.
    """
    if not device.startswith("cuda"):
        raise CaptureFailed(
            f"Hardware counters need an NVIDIA GPU, and this capture runs on {device}.",
            remedy="Leave --counters out.",
        )
    tool = find_tool()
    if tool is None:
        raise CaptureFailed(f"{NOT_HERE}.", remedy=f"{INSTALL} Or leave --counters out.")
    return tool
