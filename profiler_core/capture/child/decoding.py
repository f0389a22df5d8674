"""One call of a generating function: `generate()` as a whole, or a decoding step of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, List

from . import targets
from .protocols import Decode
from .step import Named, Step, flatten, sample
from .workloads import Built

_ANSWERED_STEPS = 4  # after a reset: a cache shows in later ones only
_MOST_CALLS = 64  # of the model within one answer, whose outputs are compared


class DecodeStep(Step):
    """Calls the user's function, whose model is compiled where it stands.

    `fed` are the token ids that the model was called with while it answered, one list for each
    call. A step that is given another one's calls its model with these instead: where two logits
    nearly tie, rounding chooses the token, and with another token all that follows differs.
    """

    kind = "outputs"
    _takes = (targets.STEP,)
    _answer_name = "returned tensor"

    def refresh(self) -> None:
        """Call the user's own `reset`."""
        super().refresh()
        if self._decode.reset is not None:
            with self._no_grad(), self._autocast():
                self._mark()
                self._decode.reset()

    def answer(self, shape: int) -> Named:
        """What the model answers to each of its calls, of the reset and of some steps, and the end.

        Nothing is seen of the calls where the model is compiled with the loop around it.
        """
        outputs: List[Any] = []
        with self._watched(outputs):
            self.refresh()
            for _ in range(min(self.reset_every or 1, _ANSWERED_STEPS) - 1):
                self._run(shape)
            returned = super().answer(shape)
        self._sees = bool(outputs)
        named = [("output {}".format(number), tensor) for number, tensor in enumerate(outputs)]
        return [*named, *returned]

    def shows(self, name: str) -> bool:
        """The outputs of the model, where they are seen; they are finer than the tokens chosen."""
        return not name.startswith(self._answer_name if self._sees else "output ")

    def _prepare(self, built: Built) -> None:
        if hasattr(built.model, "train"):
            built.model.train(False)
        self._decode: Decode = built.loop
        self._sees = False
        self.calls = self._decode.calls
        self.tokens = self._decode.tokens
        if self._decode.reset is not None:
            self.reset_every = self._decode.reset_every
        self._call = self._decode.call
        if self.target.where == targets.STEP:
            self._call = self._wrap(self._call, built.inputs[0])
        elif self._is_compiled:
            targets.compile_where_it_stands(self.target, built.model, self._wrap)

    def _run(self, index: int) -> Any:
        args, kwargs = self._inputs[index % self.n_shapes]
        self._mark()
        with self._no_grad(), self._autocast():
            return self._call(*args, **kwargs)

    @contextmanager
    def _watched(self, outputs: List[Any]) -> Iterator[None]:
        """Collect what the model answers to calls inside, each with the ids that were recorded."""
        model = self._decode.model
        own_call = getattr(model, "_compiled_call_impl", None)
        if not hasattr(model, "_compiled_call_impl") or self.target.where == targets.STEP:
            yield
            return
        recorded, self.fed = self.fed, []
        replays = bool(recorded)

        def call(*args: Any, **kwargs: Any) -> Any:
            number = len(self.fed)
            ids = [t for t in flatten([args, kwargs]) if _is_ids(t)]
            if number < len(recorded):
                for tensor, given in zip(ids, recorded[number]):
                    if tensor.shape == given.shape and not tensor.cpu().equal(given):
                        tensor.copy_(given)  # the caller's own: what it goes on with fits
            self.fed.append([tensor.detach().clone().cpu() for tensor in ids])
            answer = (own_call or model._call_impl)(*args, **kwargs)
            floating = [t for t in flatten(answer) if t.is_floating_point()]
            if floating and len(outputs) < _MOST_CALLS:
                outputs.append(sample(floating[0]))
            return answer

        model._compiled_call_impl = call
        try:
            yield
        finally:
            model._compiled_call_impl = own_call
            if replays:
                self.fed = recorded


def _is_ids(tensor: Any) -> bool:
    import torch

    return bool(tensor.dtype == torch.long)
