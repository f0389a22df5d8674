"""What a recording lacks for which question, and how to record it: a sentence for each thing."""

import polars as pl

from profiler_core.ingest.nsight_systems.database import Database
from profiler_core.ingest.nsight_systems.device_events import GRAPHS
from profiler_core.ingest.nsight_systems.host_events import CALLS
from profiler_core.ingest.nsight_systems.processes import DEVICE_TABLES
from profiler_core.ingest.nsight_systems.steps import Steps


def missing(database: Database, ranges: pl.DataFrame, steps: Steps | None) -> list[str]:
    """The sentences, the gravest first."""
    sentences = []
    has_device_work = any(database.n_about(table) for table in DEVICE_TABLES)
    if not has_device_work:
        sentences.append(
            "The recording holds no GPU work: record with nsys profile -t cuda,nvtx, and let the "
            "program end by itself, so that its last buffers are written."
        )
    elif not database.n_about(CALLS):
        sentences.append(
            "The recording holds no calls of CUDA's runtime or driver: launches and the reasons "
            "why the GPU is idle cannot be determined. Record with nsys profile -t cuda."
        )
    n_graphs = database.n_about(GRAPHS)
    if n_graphs:
        sentences.append(
            "CUDA graphs were recorded as a whole: each replay counts as one kernel, what runs in "
            "it is not in the file. Record with --cuda-graph-trace=node to see it."
        )
    if not ranges.height:
        sentences.append(
            "The recording holds no NVTX ranges, so it counts as one step. Put "
            'torch.cuda.nvtx.range("step") around a step and record with -t cuda,nvtx.'
        )
    elif steps is None:
        sentences.append(
            "No NVTX range repeats that could be a step, so the recording counts as one. Put "
            'torch.cuda.nvtx.range("step") around a step, or name a range with --step-range.'
        )
    if ranges.height and not ranges["is_operator"].any():
        sentences.append(
            "No operators are in the recording. Run the step under "
            "torch.autograd.profiler.emit_nvtx(record_shapes=True) to see which launched what."
        )
    return sentences
