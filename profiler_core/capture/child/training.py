"""A whole training step: forward, loss, backward, optimizer, and what the user's own loop adds.

Only the forward is compiled, unless the target says otherwise: the backward pass is compiled with
it by AOTAutograd, and the optimizer's step stays as it is.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Mapping, Optional, Tuple

from . import settings, targets
from .failures import CannotRunError
from .parallel import local
from .protocols import Training, iterator_of
from .step import GRADIENT_OF, UPDATE, Named, Step, default_loss, flatten, plain, sample
from .variants import Variant
from .workloads import Built, Inputs

_LEAST_MOVE = 1e-4  # fp32 rounds a parameter by 6e-8 of its size
# Of the loss while gradients are compared: without it those of fp16 lose themselves in its
# smallest numbers. A power of two rounds nothing, and is well below what a GradScaler begins with.
_COMPARED_SCALE = 2.0**10


class TrainingStep(Step):
    """One step of the optimizer, over `accumulate` batches."""

    kind = "loss and gradients"
    trains = True
    _takes: Tuple[str, ...] = (targets.LOSS, targets.OPTIMIZER)

    @property
    def can_be_held(self) -> bool:
        """No: autograd runs the backward pass in a thread of its own, on another core.

        Holding that one too takes a quarter off the step (docs/measuring.md).
        """
        return False

    def refresh(self) -> None:
        """Call the user's own `reset`."""
        super().refresh()
        if self._loop.reset is not None:
            self._loop.reset()

    def answer(self, shape: int) -> Named:
        """Loss, output and gradients of one batch, as far as this rank has them."""
        self._zero_gradients()
        scale = 1.0 if self._scaler is None else _COMPARED_SCALE
        batch = self._inputs[self._first_batch(shape)]
        output, loss = self._forward_backward(batch, lambda share: share * scale)
        tensors = [] if loss is None else [("loss", loss.detach().clone().cpu())]
        # A loss may not tell: a mean square is blind to the sign of what it is of.
        tensors += [("output {}".format(n), sample(t)) for n, t in enumerate(flatten(output))]
        for name, parameter in self._model.named_parameters():
            if parameter.grad is not None:
                gradient = local(parameter.grad.detach()).clone().cpu()
                tensors.append((GRADIENT_OF + plain(name), gradient / scale))
        self._zero_gradients()
        return tensors

    def shows(self, name: str) -> bool:
        """Forward and loss as one graph have no output that could be looked at."""
        return self.target.where != targets.LOSS or not name.startswith("output ")

    def updates(self, n_steps: int, names: Optional[List[str]]) -> Named:
        """What `n_steps` whole training steps add to the parameters, on the host.

        Of a large parameter a sample, evenly spread. Empty where parameters are kept in 16 bits or
        the loss is scaled: an update may be less than their rounding unit then, or be skipped.

        Args:
            n_steps: how many.
            names: of the parameters; None: those that move by more than _LEAST_MOVE of their size,
                of which `moving` has the names afterwards. What moves less is lost in rounding.
        """
        import torch

        self.moving: List[str] = []
        if self._scaler is not None or names == []:  # no step: it would draw numbers, too
            return []
        wide = (torch.float32, torch.float64)
        parameters = {
            plain(name): parameter
            for name, parameter in self._model.named_parameters()
            if parameter.requires_grad and (names is None or plain(name) in names)
        }
        if any(parameter.dtype not in wide for parameter in parameters.values()):
            return []
        before = {name: sample(parameter) for name, parameter in parameters.items()}
        for index in range(n_steps):
            self(index)
        updates = {name: sample(parameter) - before[name] for name, parameter in parameters.items()}
        self.moving = [
            name
            for name, update in updates.items()
            if names is not None or bool(update.norm() > _LEAST_MOVE * before[name].norm())
        ]
        return [(UPDATE.format(name, n_steps), updates[name]) for name in self.moving]

    def _prepare(self, built: Built) -> None:
        if hasattr(built.model, "train"):
            built.model.train(True)
        self._loop = built.loop or Training(built.model, None)
        self.batches_per_step = self._loop.accumulate
        if self._loop.training_step is not None:
            self.calls = "training_step"
        self._own_loss = built.loss
        self._moved = built.moved
        self._fetched: Optional[Iterator[Any]] = None
        self._scaler = _scaler(self._variant, self._device)
        self._parameters = self._trainable()
        # A CUDA graph's gradients are overwritten by its next replay: where several batches make a
        # step, each is kept, and added to, in memory of its own.
        self._keeps_gradients = self._variant.uses_cuda_graphs and self._loop.accumulate > 1
        self._in_graph_memory = list(self._parameters) if self._keeps_gradients else []
        self._compile(built)
        self._optimizer, self._scheduler = self._made_optimizer()
        self._not_stepped = _left_out(self._optimizer, self._parameters)

    def _compile(self, built: Built) -> None:
        self._callable = built.model
        self._in_backward: Callable[[], ContextManager[Any]] = contextlib.nullcontext
        self._loss_of = self._forward_and_loss
        if not self._is_compiled:
            return
        self._in_backward = settings.autograd(
            self._variant.settings, lambda graph: self._wrap(graph, _NO_CALL), self._variant.dynamic
        )
        if self.target.where == targets.LOSS:
            self._loss_of = self._wrap(self._only_loss, _NO_CALL)
        elif self.target.modules or self._loop.training_step is not None:
            targets.compile_where_it_stands(self.target, built.model, self._wrap)
        elif self.target.where == targets.WHOLE:
            self._callable = self._wrap(built.model, self._call(built.inputs[0]))

    def _made_optimizer(self) -> Tuple[Any, Any]:
        import torch

        optimizer = self._loop.optimizer
        if optimizer is None:
            optimizer = torch.optim.SGD(_by_kind(self._parameters), lr=1e-3, momentum=0.9)
        elif not hasattr(optimizer, "step"):
            optimizer = optimizer(self._parameters)
        settings.set_optimizer(optimizer, self._variant.settings)
        scheduler = self._loop.scheduler
        if scheduler is not None and not hasattr(scheduler, "step"):
            scheduler = scheduler(optimizer)
        if self.target.optimizer and self._is_compiled:
            optimizer.step = self._wrap(optimizer.step, _NO_CALL)  # after: a scheduler wraps it too
        return optimizer, scheduler

    def _trainable(self) -> List[Any]:
        parameters = getattr(self._model, "parameters", None)
        trainable = [p for p in parameters() if p.requires_grad] if parameters else []
        if not trainable:
            raise CannotRunError(
                "The model has no parameters to train.", "Leave --training out, or return a model."
            )
        return trainable

    def _run(self, index: int) -> Any:
        # The gradients of the last step may lie in a CUDA graph's memory: let go of them before
        # the next step is marked.
        self._zero_gradients()
        first, loss = self._first_batch(index), None
        scaled = _as_it_is if self._scaler is None else self._scaler.scale
        for number in range(self._loop.accumulate):
            _, loss = self._forward_backward(self._batch(first + number), scaled)
        self._clip()
        if self._scaler is None:
            self._optimizer.step()
        else:
            self._scaler.step(self._optimizer)
            self._scaler.update()
        if self._scheduler is not None:
            self._scheduler.step()
        for after in (self._loop.after_step, _update_of(self._loop.ema)):
            if after is not None:
                after(self._model)
        return loss

    def _first_batch(self, index: int) -> int:
        return index * self._loop.accumulate % len(self._inputs)

    def _batch(self, number: int) -> Inputs:
        """A batch of the list, or the next one of the iterator, which starts over at its end."""
        batches = self._loop.batches
        if batches is None:
            return self._inputs[number % len(self._inputs)]
        for _ in range(2):
            if self._fetched is None:
                self._fetched = iterator_of(batches)
            batch = next(self._fetched, _END)
            if batch is not _END:
                return self._moved(((batch,), {}))
            self._fetched = None
        raise CannotRunError("batches gives no batch.", "Let it give at least one.")

    def _zero_gradients(self) -> None:
        self._optimizer.zero_grad(set_to_none=not self._keeps_gradients)
        for parameter in self._not_stepped:  # they would grow from step to step
            if not self._keeps_gradients:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad.zero_()

    def _own_gradients(self) -> None:
        """Take new gradients out of the memory of CUDA graphs; of those without any, none is made.

        A gradient of zeros is not the same: an optimizer with weight decay moves by it.
        """
        for parameter in self._in_graph_memory:
            if parameter.grad is not None:
                parameter.grad = parameter.grad.clone()
        self._in_graph_memory = [p for p in self._in_graph_memory if p.grad is None]

    def _clip(self) -> None:
        import torch

        if self._loop.clip is None:
            return
        if self._scaler is not None:
            self._scaler.unscale_(self._optimizer)
        if callable(self._loop.clip):
            self._loop.clip(self._parameters)
        else:
            torch.nn.utils.clip_grad_norm_(self._parameters, self._loop.clip)

    def _forward_backward(self, call: Inputs, scaled: Callable[[Any], Any]) -> Tuple[Any, Any]:
        """The model's output, if there is one, and its loss, with gradients on the parameters.

        Args:
            call: a batch.
            scaled: loss -> what the backward pass begins with.
        """
        self._mark()
        with self._autocast():
            output, loss = self._loss_of(call)
        share = loss / self._loop.accumulate if self._loop.accumulate > 1 else loss
        with self._in_backward():
            scaled(share).backward()
        if self._in_graph_memory:
            self._own_gradients()
        return output, loss

    def _only_loss(self, call: Inputs) -> Tuple[Any, Any]:
        """Forward and loss as one graph is compiled: an output that left it would be written."""
        return None, self._forward_and_loss(call)[1]

    def _forward_and_loss(self, call: Inputs) -> Tuple[Any, Any]:
        if self._loop.training_step is not None:
            answer = self._loop.training_step(call[0][0])
            # Lightning's may return {"loss": …}.
            return None, answer["loss"] if isinstance(answer, Mapping) else answer
        args, kwargs = self._call(call)
        output = self._callable(*args, **kwargs)
        if self._own_loss is not None:
            return output, self._own_loss(output, call)
        if not self._is_users_own:
            return output, default_loss(output)
        if self._loop.loss is not None:
            return output, self._loop.loss(output, call[0][0])
        loss = getattr(output, "loss", None)
        return output, default_loss(output) if loss is None else loss

    def _call(self, call: Inputs) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
        """What the model is called with, of a batch."""
        if not self._is_users_own:
            return call
        batch = call[0][0]
        if self._loop.inputs is not None:
            batch = self._loop.inputs(batch)
            if isinstance(batch, (tuple, list)):
                return tuple(batch), {}
        if isinstance(batch, Mapping):
            return (), dict(batch)
        return (batch[0] if isinstance(batch, (tuple, list)) else batch,), {}


_END = object()
_NO_CALL: Inputs = ((), {})


def _update_of(ema: Any) -> Any:
    """The method by which an average of the weights follows: torch's, or timm's."""
    return getattr(ema, "update_parameters", None) or getattr(ema, "update", None)


def _left_out(optimizer: Any, parameters: List[Any]) -> List[Any]:
    """Parameters that the optimizer does not have; none of an object that does not list its own."""
    groups = getattr(optimizer, "param_groups", None)
    if groups is None:
        return []
    stepped = {id(parameter) for group in groups for parameter in group["params"]}
    return [parameter for parameter in parameters if id(parameter) not in stepped]


def _as_it_is(loss: Any) -> Any:
    return loss


def _scaler(variant: Variant, device: Any) -> Any:
    import torch

    if variant.precision != "fp16-autocast":
        return None
    if hasattr(torch.amp, "GradScaler"):  # 2.3 on
        return torch.amp.GradScaler(device.type)
    return torch.cuda.amp.GradScaler() if device.type == "cuda" else None


def _by_kind(parameters: List[Any]) -> List[Dict[str, Any]]:
    """Parameter groups of one class of tensor each: foreach operators refuse to mix DTensor in."""
    kinds: Dict[type, List[Any]] = {}
    for parameter in parameters:
        kinds.setdefault(type(parameter.data), []).append(parameter)
    return [{"params": of_kind} for of_kind in kinds.values()]
