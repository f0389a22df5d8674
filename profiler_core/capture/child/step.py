"""One step of a workload under a variant: inference, a whole training step, or the user's own."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, ContextManager, Dict, List, Optional, Tuple

from . import engines
from .failures import CannotRunError
from .variants import Variant, compiler
from .workloads import Built, Inputs

Named = List[Tuple[str, Any]]  # names and tensors, in a fixed order

GRADIENT_OF, UPDATE_OF = "gradient of ", "update of "  # what these tensors are called
_SAMPLE = 65_536  # values of a parameter, or of an output in training
_LEAST_MOVE = 1e-4  # fp32 rounds a parameter by 6e-8 of its size


class Step:
    """Runs step i (input shapes cycle) and, for the numerics, answers with named tensors.

    The model is compiled, or traced, when the object is made; torch.compile itself only works at
    the first call.
    """

    def __init__(self, built: Built, variant: Variant, device: Any, training: bool) -> None:
        import torch

        device = engines.device_for(variant.backend, device)
        self.labels = built.labels
        self.n_shapes = len(built.inputs)
        self._inputs = built.inputs
        self._loss = built.loss or (lambda output, _: default_loss(output))
        self._autocast = _autocast(variant, device)
        self._no_grad = torch.no_grad
        self._mark = _step_marker(variant, device)
        self._model = built.model
        self._end = engines.end_of_step(variant.backend, training)
        wrap = compiler(variant)
        if built.step is not None:
            self.kind = "returned tensors"
            self._user_step = wrap(built.step, built.inputs[0])
            self._run: Callable[[int], Any] = self._run_user_step
            return
        if hasattr(built.model, "train"):
            built.model.train(training)
        if not training:
            self.kind = "outputs"
            with torch.no_grad():
                self._callable = wrap(built.model, built.inputs[0])
            self._run = self._run_inference
            return
        self.kind = "loss and gradients"
        self._parameters = self._trainable()
        self._optimizer = torch.optim.SGD(self._parameters, lr=1e-3, momentum=0.9)
        self._scaler = _scaler(variant, device)
        self._callable = wrap(built.model, built.inputs[0])
        self._run = self._run_training

    def __call__(self, index: int) -> Any:
        """Run step `index`, without waiting for the GPU."""
        answer = self._run(index)
        self._end()
        return answer

    def answer(self, shape: int) -> Named:
        """Run one call without optimizer and copy what it answers to the host.

        Copied at once: the next replay of a CUDA graph overwrites its outputs.
        """
        if self.kind != "loss and gradients":
            return [
                ("{} {}".format("output" if self.kind == "outputs" else "returned tensor", n), t)
                for n, t in enumerate(_copies(self._run(shape)))
            ]
        output, loss = self._forward_backward(self._inputs[shape], scale=False)
        tensors = [("loss", loss.detach().clone().cpu())]
        # A loss may not tell: a mean square is blind to the sign of what it is of.
        tensors += [("output {}".format(n), _sample(t)) for n, t in enumerate(flatten(output))]
        for name, parameter in self._model.named_parameters():
            if parameter.grad is not None:
                tensors.append((GRADIENT_OF + name, parameter.grad.detach().clone().cpu()))
        self._optimizer.zero_grad(set_to_none=True)
        return tensors

    def buffers(self) -> Dict[str, Any]:
        """The model's buffers by "buffer NAME", copied to the host; of a step callable none."""
        named = getattr(self._model, "named_buffers", None)
        return {
            "buffer {}".format(name): buffer.detach().clone().cpu()
            for name, buffer in (named() if named else ())
        }

    def updates(self, n_steps: int, names: Optional[List[str]]) -> Named:
        """What `n_steps` whole training steps add to the parameters, on the host.

        Of a large parameter a sample of at most _SAMPLE values, evenly spread. Empty without
        training, and where parameters are kept in 16 bits or the loss is scaled: an update may be
        less than their rounding unit then, or be skipped.

        Args:
            n_steps: how many.
            names: of the parameters; None: those that move by more than _LEAST_MOVE of their size,
                of which `moving` has the names afterwards. What moves less is lost in rounding.
        """
        import torch

        self.moving: List[str] = []
        if self.kind != "loss and gradients" or self._scaler is not None:
            return []
        wide = (torch.float32, torch.float64)
        parameters = {
            name: parameter
            for name, parameter in self._model.named_parameters()
            if parameter.requires_grad and (names is None or name in names)
        }
        if any(parameter.dtype not in wide for parameter in parameters.values()):
            return []
        before = {name: _sample(parameter) for name, parameter in parameters.items()}
        for index in range(n_steps):
            self(index)
        updates = {
            name: _sample(parameter) - before[name] for name, parameter in parameters.items()
        }
        self.moving = [
            name
            for name, update in updates.items()
            if names is not None or bool(update.norm() > _LEAST_MOVE * before[name].norm())
        ]
        return [
            ("{}{} by {} steps".format(UPDATE_OF, name, n_steps), updates[name])
            for name in self.moving
        ]

    def nudge(self, size: float, seed: int) -> None:
        """Multiply each value of the model's parameters by 1 plus a random number of this size."""
        import torch

        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self._model.parameters():
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float32)
                parameter.mul_((1.0 + size * noise).to(parameter.device, parameter.dtype))

    def _trainable(self) -> List[Any]:
        parameters = getattr(self._model, "parameters", None)
        trainable = [p for p in parameters() if p.requires_grad] if parameters else []
        if not trainable:
            raise CannotRunError(
                "The model has no parameters to train.", "Leave --training out, or return a model."
            )
        return trainable

    def _run_user_step(self, _: int) -> Any:
        self._mark()
        with self._autocast():
            return self._user_step()

    def _run_inference(self, index: int) -> Any:
        args, kwargs = self._inputs[index % self.n_shapes]
        self._mark()
        with self._no_grad(), self._autocast():
            return self._callable(*args, **kwargs)

    def _run_training(self, index: int) -> Any:
        _, loss = self._forward_backward(self._inputs[index % self.n_shapes], scale=True)
        if self._scaler is None:
            self._optimizer.step()
        else:
            self._scaler.step(self._optimizer)
            self._scaler.update()
        return loss

    def _forward_backward(self, call: Inputs, scale: bool) -> Tuple[Any, Any]:
        """The model's output and its loss, with gradients on the parameters."""
        # The gradients of the last step may lie in a CUDA graph's memory: let go of them before
        # the next step is marked.
        self._optimizer.zero_grad(set_to_none=True)
        self._mark()
        args, kwargs = call
        with self._autocast():
            output = self._callable(*args, **kwargs)
            loss = self._loss(output, call)
        if scale and self._scaler is not None:
            self._scaler.scale(loss).backward()
        else:
            loss.backward()
        return output, loss


def _sample(tensor: Any) -> Any:
    """At most _SAMPLE values of it, evenly spread, on the host."""
    flat = tensor.detach().reshape(-1)
    return flat[:: max(1, -(-flat.numel() // _SAMPLE))].clone().cpu()


def default_loss(output: Any) -> Any:
    """Mean square of every floating tensor: exercises the backward pass of any model."""
    import torch

    total = None
    for tensor in flatten(output):
        if tensor.is_floating_point():
            part = (
                tensor.float().square().mean()
                if tensor.dtype != torch.float64
                else (tensor.square().mean())
            )
            total = part if total is None else total + part
    if total is None:
        raise CannotRunError(
            "The model returns no floating-point tensor to train on.",
            "Return (model, example_inputs, loss) from the function.",
        )
    return total


def flatten(value: Any) -> List[Any]:
    """The tensors inside lists, tuples, dicts and output objects, in their order."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if hasattr(value, "values") and callable(value.values):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in flatten(item)]
    fields = getattr(value, "__dataclass_fields__", None)
    if fields:
        return [tensor for name in fields for tensor in flatten(getattr(value, name))]
    return []


def _copies(output: Any) -> List[Any]:
    return [tensor.detach().clone().cpu() for tensor in flatten(output)]


def _autocast(variant: Variant, device: Any) -> Callable[[], ContextManager[Any]]:
    import torch

    if not variant.precision.endswith("-autocast"):
        return contextlib.nullcontext
    dtype = torch.bfloat16 if variant.precision.startswith("bf16") else torch.float16
    return lambda: torch.autocast(device.type, dtype=dtype)


def _scaler(variant: Variant, device: Any) -> Any:
    import torch

    if variant.precision != "fp16-autocast" or device.type != "cuda":
        return None
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):  # 2.3 on
        return torch.amp.GradScaler("cuda")
    return torch.cuda.amp.GradScaler()


def _step_marker(variant: Variant, device: Any) -> Callable[[], Any]:
    import torch

    if device.type == "cuda" and variant.uses_cuda_graphs:
        mark = getattr(torch.compiler, "cudagraph_mark_step_begin", None)  # 2.1 on
        if mark is not None:
            return mark  # type: ignore[no-any-return]
    return lambda: None
