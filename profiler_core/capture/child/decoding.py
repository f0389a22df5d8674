"""One call of a generating function: `generate()` as a whole, or a decoding step of it."""

from __future__ import annotations

from typing import Any

from . import targets
from .protocols import Decode
from .step import Step
from .workloads import Built


class DecodeStep(Step):
    """Calls the user's function, whose model is compiled where it stands."""

    kind = "returned tensors"
    _takes = (targets.STEP,)
    _answer_name = "returned tensor"

    def refresh(self) -> None:
        """Call the user's own `reset`."""
        super().refresh()
        if self._decode.reset is not None:
            with self._no_grad(), self._autocast():
                self._mark()
                self._decode.reset()

    def _prepare(self, built: Built) -> None:
        if hasattr(built.model, "train"):
            built.model.train(False)
        self._decode: Decode = built.loop
        self.tokens = self._decode.tokens
        if self._decode.reset is not None:
            self.reset_every = self._decode.reset_every
        self._call = self._decode.call
        if self.target.where == targets.STEP:
            self._call = self._wrap(self._call, built.inputs[0])
        elif self._is_compiled:
            targets.compile_where_it_stands(self.target, built.model, self._wrap)

    def answer(self, shape: int) -> Any:
        """What the model answers to each of its calls within one step, with the same tokens."""
        self.refresh()
        return super().answer(shape)

    def _run(self, index: int) -> Any:
        args, kwargs = self._inputs[index % self.n_shapes]
        self._mark()
        with self._no_grad(), self._autocast():
            return self._call(*args, **kwargs)
