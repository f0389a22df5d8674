"""A view as bytes for the browser.

u32 length of the header (little-endian), the header as JSON padded with spaces to 8 bytes, then
the columns one after another, each at a multiple of 8 bytes, so that JavaScript can lay typed
arrays over them without copying. `static/timeline/packet.js` is the other end.
"""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profiler_core.analysis.kernel_names import unmangled_name
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.timeline.index import Index
from profiler_core.timeline.view import View

# What fits into the widest box on a large screen; the details panel has the whole name.
MAX_NAME_LENGTH = 160


def encode(index: Index, view: View) -> bytes:
    """The packet of a view.

    Times of events are relative to the window's start: JavaScript's numbers hold whole
    nanoseconds only up to 104 days.
    """
    names, name_of_event = np.unique(index.name[view.events], return_inverse=True)
    columns: dict[str, NDArray[np.generic]] = {
        "ts": (index.ts[view.events] - view.start_ns).astype("<f8"),
        "dur": index.dur[view.events].astype("<f8"),
        "counts": view.counts.ravel().astype("<u4"),
        "row": index.row[view.events].astype("<u4"),
        "name": name_of_event.astype("<u2"),
        "lane": view.event_lane.astype("<u2"),
        "category": index.category[view.events].astype("u1"),
        "table": index.table[view.events].astype("u1"),
        "shares": view.shares.ravel().astype("u1"),
    }
    described, body = _laid_out(columns)
    header = msgspec.json.encode(
        {
            "start_ns": view.start_ns,
            "end_ns": view.end_ns,
            "width": view.width,
            "n_events": view.n_events,
            "n_drawn": int(view.events.size),
            "event_lanes": view.event_lanes,
            "series": view.series,
            "count_lanes": view.count_lanes,
            "names": [
                clipped(unmangled_name(index.name_text(number)), MAX_NAME_LENGTH)
                for number in names.tolist()
            ],
            "columns": described,
        }
    )
    header += b" " * (-(len(header) + 4) % 8)
    return len(header).to_bytes(4, "little") + header + body


def _laid_out(columns: dict[str, NDArray[np.generic]]) -> tuple[list[list[object]], bytes]:
    """[name, dtype, offset, length] of each column, and their bytes."""
    described: list[list[object]] = []
    parts: list[bytes] = []
    offset = 0
    for name, array in columns.items():
        data = array.tobytes()
        padding = -len(data) % 8
        described.append([name, array.dtype.str[1:], offset, array.size])
        parts.append(data + b"\0" * padding)
        offset += len(data) + padding
    return described, b"".join(parts)
