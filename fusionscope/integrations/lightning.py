"""A callback of Lightning's Trainer that records its training steps.

from fusionscope.integrations.lightning import FusionscopeCallback
trainer = L.Trainer(..., callbacks=[FusionscopeCallback("runs/")])
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Dict

from fusionscope.integrations.recording import StepRecording, name_of, variant_of

# Both names that the package is published by; a Trainer of one wants callbacks of the same.
_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


def _callback() -> Any:
    """Lightning's `Callback`, of the package that is imported already, or else can be."""
    imported = [name for name in _PACKAGES if name in sys.modules]
    for name in (*imported, *_PACKAGES):
        try:
            return import_module(name).Callback
        except ImportError as error:
            last = error
    raise ImportError(
        "FusionscopeCallback needs lightning or pytorch-lightning in this environment."
    ) from last


class FusionscopeCallback(_callback()):  # type: ignore[misc]
    """Records training: a step is one update of the weights, accumulated batches included.

    Validation between two steps is no part of either. Workload, variant and samples per step are
    taken from module and loader where they are not given.

    Args:
        directory: the run directory is made in there.
        options: those of `Recorder` (docs/recorder.md): workload, variant, rounds, steps, ...
    """

    def __init__(self, directory: str = "runs", **options: Any) -> None:
        super().__init__()
        self.recording = StepRecording({"directory": directory, **options})
        self._n_updates = 0

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
        """A batch is there; the first of a step where weights were updated after the last one."""
        if self.recording.recorder is None:
            self._n_updates = trainer.global_step
        self.recording.begin_step(lambda: _facts(trainer, module))

    def on_train_batch_end(
        self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A step has ended, if the weights have been updated."""
        if trainer.global_step != self._n_updates:
            self._n_updates = trainer.global_step
            self.recording.end_step()

    def on_validation_start(self, trainer: Any, module: Any) -> None:
        """No step until the next batch of training."""
        self.recording.pause()

    def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
        """Neither are checkpoints, and the workers of the next epoch's loader."""
        self.recording.pause()

    def on_train_end(self, trainer: Any, module: Any) -> None:
        """Training is over."""
        self.recording.close()

    def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
        """Something ended it, Ctrl-C included."""
        self.recording.close(exception)


def _facts(trainer: Any, module: Any) -> Dict[str, Any]:
    n_samples = getattr(trainer.train_dataloader, "batch_size", None)
    return {
        "workload": name_of(module),
        "variant": variant_of(module),
        "batch_size": n_samples and n_samples * trainer.accumulate_grad_batches,
    }
