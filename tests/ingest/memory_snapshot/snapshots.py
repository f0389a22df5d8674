"""A small snapshot in the shape that torch 2.15 writes (made up, whole numbers)."""

import copy
import pickle

FRAMES = [
    {"name": "forward", "filename": "/home/user/model.py", "line": 12},
    {"name": "_call_impl", "filename": "/venv/site-packages/torch/nn/modules/module.py", "line": 9},
]
SNAPSHOT = {
    "segments": [
        {
            "device": 0, "address": 1000, "total_size": 4096, "allocated_size": 1024,
            "active_size": 1024, "requested_size": 1000, "stream": 0, "segment_type": "small",
            "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
            "blocks": [
                {"address": 1000, "size": 1024, "requested_size": 1000,
                 "state": "active_allocated", "frames": FRAMES},
                {"address": 2024, "size": 3072, "requested_size": 0, "state": "inactive",
                 "frames": []},
            ],
        },
    ],
    "device_traces": [
        [
            {"action": "alloc", "addr": 1000, "size": 1024, "stream": 0, "time_us": 7,
             "compile_context": "N/A", "user_metadata": "", "frames": FRAMES},
            {"action": "alloc", "addr": 2024, "size": 512, "stream": 0, "time_us": 8,
             "compile_context": "0/0", "user_metadata": "", "frames": list(FRAMES)},
            {"action": "free_requested", "addr": 2024, "size": 512, "stream": 0, "time_us": 9,
             "compile_context": "N/A", "user_metadata": "", "frames": []},
            {"action": "free_completed", "addr": 2024, "size": 512, "stream": 0, "time_us": 9,
             "compile_context": "N/A", "user_metadata": "", "frames": []},
        ],
    ],
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False},
    "external_annotations": [{"stage": "START", "name": "step", "device": 0, "time_us": 6}],
}  # fmt: skip


def a_snapshot(**changes):
    """A copy of it, with some keys replaced."""
    return copy.deepcopy(SNAPSHOT) | changes


def pickled(snapshot, protocol=4):
    """Its bytes."""
    return pickle.dumps(snapshot, protocol=protocol)
