"""A callback of `transformers.Trainer` that records its training steps.

from fusionscope.integrations.huggingface import FusionscopeCallback
trainer = Trainer(..., callbacks=[FusionscopeCallback("runs/")])
"""

from __future__ import annotations

from typing import Any, Dict

from transformers import TrainerCallback

from fusionscope.integrations.recording import StepRecording, name_of, variant_of


class FusionscopeCallback(TrainerCallback):  # type: ignore[misc]
    """Records training: a step is one update of the weights, accumulated batches included.

    Evaluation and saving between two steps are no part of either. A training that goes on from a
    checkpoint is recorded from its first new step on. Workload, variant and samples per step are
    taken from the trainer where they are not given.

    Args:
        directory: the run directory is made in there.
        options: those of `Recorder` (docs/recorder.md): workload, variant, rounds, steps, ...
    """

    def __init__(self, directory: str = "runs", **options: Any) -> None:
        self.recording = StepRecording({"directory": directory, **options})

    def on_step_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """The first batch of a step has been loaded."""
        self.recording.begin_step(lambda: _facts(args, others.get("model")))

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """The weights have been updated; what the trainer does now is no step."""
        self.recording.end_step()
        if control.should_evaluate or control.should_save:
            self.recording.pause()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """An evaluation, and the workers of the next epoch's loader."""
        self.recording.pause()

    def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Training is over."""
        self.recording.close()


def _facts(args: Any, model: Any) -> Dict[str, Any]:
    is_compiled = bool(getattr(args, "torch_compile", False))
    variant = variant_of(
        model,
        mode=(args.torch_compile_mode or "default") if is_compiled else None,
        backend=args.torch_compile_backend if is_compiled else None,
    )
    n_samples = args.train_batch_size * args.gradient_accumulation_steps
    return {"workload": name_of(model), "variant": variant, "batch_size": n_samples}
