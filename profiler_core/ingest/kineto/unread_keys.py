"""Keys of events that nothing here reads, so that a newer torch's are not dropped silently.

A whole look at the text of a piece takes longer than reading it. A writer gives all events of a
category the same keys, so windows spread over each piece find the keys, and each that is new is
then counted in the whole piece.
"""

import re
from collections import Counter

from profiler_core.ingest.kineto.wide import ARGUMENTS

_KEY = re.compile(rb'[{,]\s*"([^"\\\n]{1,60})"\s*:')
_WINDOW_BYTES = 4096
_N_WINDOWS = 16
_MOST_KEYS = 30  # of one piece

# Trace Event Format (Google, 2016).
_OF_EVENTS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id", "bp", "s")

# Read and needed for nothing: what another event says as well, or a fact that no answer rests on.
_NOT_NEEDED = (
    # Kineto, torch/csrc/profiler/kineto_shim.cpp and torch/csrc/autograd/profiler_kineto.cpp
    *("Record function id", "Ev Idx", "Op count", "queued", "context", "cbid", "priority"),
    *("warps per SM", "blocks per SM", "scope", "finished", "labels", "sort_index", "Trace id"),
    *("Module Hierarchy", "Call stack", "Trace name", "Trace iteration", "Profile Id"),
    *("copy kind", "src kind", "dst kind", "memory kind", "flags", "value", "channel"),
    *("channel_type", "cuda_sync_kind", "wait_on_stream", "wait_on_cuda_event_id"),
    *("wait_on_cuda_event_record_corr_id", "seq_num", "flops", "kernel_name", "num_warps"),
    *("num_stages", "kernel_backend", "id", "source_correlation", "dependency"),
    # torch 1.9
    *("Device", "external id", "external ts"),
    # torch/csrc/distributed/c10d/ParamCommsUtils.hpp
    *("Process Group Description", "Global rank start", "Global rank stride", "Rank"),
    *("In split size", "Out split size", "Is asynchronized op", "Seq", "in_split", "out_split"),
    # of other devices: XPU and ROCm
    *("kernel id", "l0 queue", "sycl queue", "ptr", "size", "src", "dst", "stream id", "kind"),
    *("hipGraph", "graph exec id"),
)
_KNOWN = frozenset(key.encode() for key in (*_OF_EVENTS, *_NOT_NEEDED, *(a.key for a in ARGUMENTS)))


def unread_keys(text: bytes) -> Counter[str]:
    """The keys of a piece that are unknown here, each with how often it stands in the piece.

    Args:
        text: events, from one border between two to another.
    """
    stride = max(len(text) // _N_WINDOWS, _WINDOW_BYTES)
    keys: set[bytes] = set()
    for begin in range(0, len(text), stride):
        keys.update(_KEY.findall(text, begin, begin + _WINDOW_BYTES))
    unknown = sorted(keys - _KNOWN)[:_MOST_KEYS]
    return Counter({key.decode(errors="replace"): text.count(b'"' + key + b'"') for key in unknown})
