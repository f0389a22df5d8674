"""What torch 2.15 writes into a trace beside the older keys, by its own exporters' source.

`torch/profiler/_chrome_trace_export.py` puts the annotation of a graph's node into the arguments
of its events, `torch/_inductor/profiler.py` the stacks that a compiled kernel comes from. No GPU of
that version was at hand: the events below follow that code.
"""

import json
from pathlib import Path

from profiler_core.ingest.open import open_trace
from profiler_core.timeline.build import build_index
from profiler_core.timeline.event import event
from profiler_core.timeline.index import open_index

STACK = (
    '  File "/home/me/train.py", line 12, in <module>\n    step(x)\n'
    '  File "/home/me/model.py", line 84, in forward\n    return self.norm(x + y)\n'
)


def written(folder: Path) -> Path:
    node = {
        "device": 0,
        "stream": 7,
        "correlation": 3,
        "graph id": 1,
        "graph node id": 4_294_967_297,
    }
    events = [
        {
            "ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1,
            "ts": 1, "dur": 2, "args": {"correlation": 3},
        },
        {
            "ph": "X", "cat": "kernel", "name": "triton_poi_fused_add_0", "pid": 0, "tid": 7,
            "ts": 5, "dur": 4,
            "args": {
                **node, "name": "phase_B", "dtype": "bf16", "annotated_stream": 3,
                "stack": [STACK, STACK],
            },
        },
        {
            "ph": "X", "cat": "kernel", "name": "plain", "pid": 0, "tid": 7, "ts": 10, "dur": 1,
            "args": {"device": 0, "stream": 7, "correlation": 3},
        },
    ]  # fmt: skip
    path = folder / "trace.json"
    path.write_text(json.dumps({"cudaGraphInlineAnnotated": True, "traceEvents": events}))
    return path


def test_annotations_and_stacks_are_at_the_kernel(tmp_path: Path) -> None:
    trace = open_trace(written(tmp_path))
    assert trace.device["annotation"].to_list() == ["phase_B", None]
    build_index(trace, tmp_path / "index")
    index = open_index(tmp_path / "index")
    marked, plain = (event(trace, index, "device", row) for row in (0, 1))
    assert marked is not None
    assert plain is not None
    assert (marked.annotation, marked.source_lines) == ("phase_B", ("model.py:84",))
    assert (plain.annotation, plain.source_lines) == (None, ())
    assert trace.metadata["cudaGraphInlineAnnotated"] is True
