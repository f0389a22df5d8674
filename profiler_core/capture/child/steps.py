"""Which kind of step a built workload makes."""

from __future__ import annotations

from typing import Any

from .decoding import DecodeStep
from .pipeline import PipelineStep
from .protocols import Decode, Training
from .step import Step, UserStep
from .training import TrainingStep
from .variants import Variant
from .workloads import Built


def step_of(built: Built, variant: Variant, device: Any, training: bool) -> Step:
    """The step of a workload under a variant.

    Args:
        built: in its place (`variants.build`).
        variant: how it runs.
        device: where.
        training: whether a model with inputs is trained; a loop of the user's own says it itself.
    """
    if built.step is not None:
        return UserStep(built, variant, device)
    if isinstance(built.loop, Decode):
        return DecodeStep(built, variant, device)
    if built.pipeline is not None:
        return PipelineStep(built, variant, device)
    if training or isinstance(built.loop, Training):
        return TrainingStep(built, variant, device)
    return Step(built, variant, device)
