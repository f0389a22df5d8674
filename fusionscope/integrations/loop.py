"""A training loop of one's own, of Accelerate or of torchtitan, by its optimizer.

from fusionscope.integrations.loop import record
with record(optimizer, "runs/", workload="my-train", variant="eager"):
    ...  # the loop as it is
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from profiler_core.record import Recorder


@contextlib.contextmanager
def record(optimizer: Any, directory: str = "runs", **options: Any) -> Iterator[Recorder]:
    """Record the loop in this `with`: a step ends whenever `optimizer` has updated the weights.

    With accumulated gradients that is once for all of their batches; an update that a gradient
    scaler leaves out ends no step. What is no training goes into `with recorder.paused():`.

    Args:
        optimizer: of torch, as accelerate's `prepare` returns it, or torchtitan's container. Of
            several optimizers that step together, the last one.
        directory: the run directory is made in there.
        options: those of `Recorder` (docs/recorder.md): workload, variant, rounds, steps, ...
    """
    wrapped = getattr(optimizer, "optimizer", optimizer)  # accelerate's wrapper steps this one
    with Recorder(directory, **options) as recorder:
        handle = wrapped.register_step_post_hook(lambda *_: recorder.step())
        try:
            yield recorder
        finally:
            handle.remove()
