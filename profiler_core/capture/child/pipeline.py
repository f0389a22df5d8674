"""A training step of one pipeline stage: each rank holds some blocks, batches go through in parts.

Source: torch.distributed.pipelining (torch 2.5 on): PipelineStage sends and receives between
neighbours, a schedule orders forward and backward passes of the microbatches.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from . import targets
from .failures import CannotRunError
from .step import default_loss
from .training import TrainingStep
from .workloads import Built, Inputs

SCHEDULES = {"gpipe": "ScheduleGPipe", "1f1b": "Schedule1F1B"}


class Pipeline(NamedTuple):
    """How a batch goes through the stages.

    schedule: a key of SCHEDULES.
    delay: called once per step before the first microbatch's forward pass; None on ranks that are
        not made late.
    """

    n_microbatches: int
    schedule: str
    delay: Optional[Callable[[], None]] = None


def stage_of(blocks: List[Any], rank: int, n_ranks: int) -> List[Any]:
    """The blocks of one rank's stage, neighbours together; early stages take what is left over.

    Raises:
        CannotRunError: there are fewer blocks than ranks.
    """
    if len(blocks) < n_ranks:
        raise CannotRunError(
            "{} blocks do not make {} pipeline stages.".format(len(blocks), n_ranks),
            "Pass --option layers={} or more, or fewer ranks.".format(n_ranks),
        )
    size, more = divmod(len(blocks), n_ranks)
    start = rank * size + min(rank, more)
    return blocks[start : start + size + (rank < more)]


class PipelineStep(TrainingStep):
    """One step of the optimizer, its batch cut into microbatches that go through all stages.

    The loss is there on the last stage only, and the output too.
    """

    _takes = (targets.OPTIMIZER,)  # a stage's forward and the loss are no one graph

    def _prepare(self, built: Built) -> None:
        import torch

        super()._prepare(built)
        if self._scaler is not None:
            raise CannotRunError(
                "A pipeline of stages has no scaled loss, which fp16 under autocast needs.",
                "Use +bf16-autocast.",
            )
        try:
            pipelining: Any = importlib.import_module("torch.distributed.pipelining")
        except ImportError:
            raise CannotRunError(
                "This torch has no torch.distributed.pipelining.", "Use torch 2.5 or newer."
            ) from None
        how: Pipeline = built.pipeline
        rank, n_ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
        self._is_first, self._is_last = rank == 0, rank == n_ranks - 1
        self._forward_of_stage = _forward_of_stage(built.model, self._autocast, how.delay)
        stage = pipelining.PipelineStage(self._forward_of_stage, rank, n_ranks, self._device)
        self._schedule = getattr(pipelining, SCHEDULES[how.schedule])(
            stage, how.n_microbatches, loss_fn=lambda output, _: default_loss(output)
        )

    def _compile(self, built: Built) -> None:
        self._callable = built.model
        if self._is_compiled and (self.target.where == targets.WHOLE or self.target.modules):
            targets.compile_where_it_stands(self.target, built.model, self._wrap)

    def _forward_backward(self, call: Inputs, scaled: Callable[[Any], Any]) -> Tuple[Any, Any]:
        """Output and mean loss of the whole batch on the last stage; (None, None) before it."""
        import torch

        del scaled  # there is no scaler
        self._mark()
        self._forward_of_stage.is_new_step = True
        batch = call[0][0]
        losses: List[Any] = []
        output = self._schedule.step(
            *([batch] if self._is_first else []),
            target=batch if self._is_last else None,  # it is cut like the batch, and not looked at
            losses=losses if self._is_last else None,
        )
        if not self._is_last:
            return None, None
        return output, torch.stack([loss.detach() for loss in losses]).mean()


def _forward_of_stage(model: Any, autocast: Any, delay: Optional[Callable[[], None]]) -> Any:
    """A module that runs the stage's own, late where it is to be, in the variant's precision."""
    from torch import nn

    class ForwardOfStage(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.is_new_step = False

        def forward(self, x: Any) -> Any:
            if delay is not None and self.is_new_step:
                delay()
            self.is_new_step = False
            with autocast():
                return self.model(x)

    return ForwardOfStage()
