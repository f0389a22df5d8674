"""The built-in workloads of several ranks: transformer blocks under four kinds of parallelism."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Callable, List, Optional, Tuple

from .failures import CannotRunError
from .workloads import Built, Inputs, Options, Request, label_of, shapes_of, tensors


def build(request: Request, options: Options) -> Built:
    """Transformer blocks, on several ranks; the rank `slow_rank` is made late.

    By slow_factor times the others' batch (not under tensor parallelism and in a pipeline, which
    share one batch), by slow_spin_us µs in which its device spins, or by slow_sleep_us µs in which
    its host sleeps after it has waited for its device; the latter two between forward and backward,
    in a pipeline before the first forward. Where ranks have batches of their own, these differ.
    """
    import torch

    from . import models

    width, length = options.number("width", 1024), options.number("length", 256)
    slow_rank, slow_factor = options.number("slow_rank", -1), options.number("slow_factor", 2)
    spin_us, sleep_us = options.number("slow_spin_us", 0), options.number("slow_sleep_us", 0)
    shares_batch = request.workload in ("tp", "pp")
    make_block = models.ShardableBlock if request.workload == "tp" else models.TransformerBlock
    blocks = [make_block(width) for _ in range(options.number("layers", 6))]
    batch = request.batch_size or 8
    is_job = torch.distributed.is_initialized()
    rank = torch.distributed.get_rank() if is_job else 0
    is_slow = is_job and rank == slow_rank
    late = partial(_be_late, spin_us, sleep_us) if is_slow and (spin_us or sleep_us) else None
    if is_slow and late is None and not shares_batch:
        batch *= slow_factor
    if not shares_batch:
        torch.manual_seed(request.seed + 1 + rank)  # of the batches; the weights are alike
    inputs = tensors(shapes_of(request._replace(batch_size=batch), batch, (length, width)))
    labels = [label_of(args) for args, _ in inputs]
    if request.workload == "pp":
        return _stage(request, options, blocks, inputs, labels, late)
    loss = None if late is None else _late_loss(late)
    built = Built(torch.nn.Sequential(*blocks), inputs, labels, loss, parallel=request.workload)
    return built._replace(exchange=_exchange(request.workload, options))


def _exchange(workload: str, options: Options) -> Tuple[Tuple[str, int], ...]:
    """DDP's bucket size in MB, how many blocks ahead FSDP2 gathers; 0: as torch does by itself."""
    name = {"ddp": "bucket_cap_mb", "fsdp": "prefetch"}.get(workload)
    return ((name, options.number(name, 0)),) if name else ()


def _stage(
    request: Request,
    options: Options,
    blocks: List[Any],
    inputs: List[Inputs],
    labels: List[str],
    late: Optional[Callable[[], None]],
) -> Built:
    """The stage of this rank in a pipeline of all; one alone where there are no ranks."""
    import torch

    from . import pipeline

    how = pipeline.Pipeline(
        options.number("microbatches", 4),
        options.choice("schedule", tuple(pipeline.SCHEDULES)),
        late,
    )
    for args, _ in inputs:
        if args[0].shape[0] % how.n_microbatches:
            raise CannotRunError(
                "A batch of {} cannot be cut into {} equal microbatches.".format(
                    args[0].shape[0], how.n_microbatches
                ),
                "Pass --option microbatches=N with an N that divides the batch size.",
            )
    if torch.distributed.is_initialized():
        distributed = torch.distributed
        blocks = pipeline.stage_of(blocks, distributed.get_rank(), distributed.get_world_size())
    return Built(
        torch.nn.Sequential(*blocks), inputs, labels, parallel=request.workload, pipeline=how
    )


_CYCLES_PER_US = 1980  # of an H100 or H200 at its highest clock


def _be_late(spin_us: int, sleep_us: int) -> None:
    """Keep this rank's device busy, or its host asleep after its device has come to rest."""
    import torch

    if torch.cuda.is_available():
        if spin_us:
            torch.cuda._sleep(spin_us * _CYCLES_PER_US)
        if sleep_us:
            torch.cuda.synchronize()
    if sleep_us:
        time.sleep(sleep_us / 1e6)


def _late_loss(late: Callable[[], None]) -> Callable[[Any, Inputs], Any]:
    """`step.default_loss` on a rank that is late."""
    from .step import default_loss

    def loss(output: Any, _: Inputs) -> Any:
        late()
        return default_loss(output)

    return loss
