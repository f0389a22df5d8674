"""Accelerate's loops: `record` of `fusionscope.integrations.loop`, with what an Accelerator knows.

from fusionscope.integrations.accelerate import record
with record(accelerator, optimizer, "runs/"):
    ...  # the loop as it is
"""

from __future__ import annotations

from typing import Any, ContextManager

from fusionscope.integrations import loop
from fusionscope.integrations.recording import variant_of
from profiler_core.record import Recorder


def record(
    accelerator: Any, optimizer: Any, directory: str = "runs", **options: Any
) -> ContextManager[Recorder]:
    """Record the loop in this `with`; a step ends whenever `optimizer` has updated the weights.

    Args:
        accelerator: says how it compiles (`TorchDynamoPlugin`, ACCELERATE_DYNAMO_BACKEND).
        optimizer: as `accelerator.prepare` returned it.
        directory: the run directory is made in there.
        options: those of `Recorder`: workload, variant, batch_size, rounds, steps, ...
    """
    plugin = accelerator.state.dynamo_plugin
    backend = getattr(plugin.backend, "value", "NO").lower()
    is_compiled = backend != "no"
    variant = variant_of(
        None,
        mode=(plugin.mode or "default") if is_compiled else None,
        backend=backend if is_compiled else None,
    )
    return loop.record(optimizer, directory, **{"variant": variant, **options})
