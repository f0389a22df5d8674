"""One step of a workload under a variant: a model's inference, or a callable of the user's own."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, ContextManager, Dict, List, Optional, Tuple

from . import engines, settings, targets
from .failures import CannotRunError
from .parallel import local
from .variants import Variant, compiler
from .workloads import Built

Named = List[Tuple[str, Any]]  # names and tensors, in a fixed order

GRADIENT_OF, UPDATE_OF = "gradient of ", "update of "  # what these tensors are called
UPDATE = UPDATE_OF + "{} by {} steps"  # of a parameter
_SAMPLE = 65_536  # values of a parameter, or of an output in training


class Step:
    """Runs step i (input shapes cycle) and, for the numerics, answers with named tensors.

    What the variant compiles is prepared when the object is made; torch.compile itself only works
    at the first call. This class runs a model's inference; others make other steps (`steps`).
    """

    kind = "outputs"
    calls = "model"  # what of the user's one step calls, see `model.run.Compiled`
    trains = False
    batches_per_step = 1
    tokens: Optional[int] = None  # that one step makes; None: nobody said
    reset_every: Optional[int] = None  # steps that may follow each other; None: any number
    _takes: Tuple[str, ...] = ()  # targets beside the model and its modules
    _answer_name = "output"

    def __init__(self, built: Built, variant: Variant, device: Any) -> None:
        import torch

        device = engines.device_for(variant.backend, device)
        self.labels = built.labels
        self.n_shapes = len(built.labels)
        self._inputs = built.inputs
        self._autocast = settings.within(_autocast(variant, device), variant.settings)
        self._no_grad = torch.no_grad
        self._mark = _step_marker(variant, device)
        self._model = built.model
        self._is_users_own = built.step is not None or built.loop is not None
        self._end = engines.end_of_step(variant.backend, self.trains)
        self._wrap = compiler(variant)
        self._variant, self._device = variant, device
        self._is_compiled = variant.is_compiled
        self.target = targets.target_of(
            variant.target,
            built.model,
            built.compiles_itself,
            targets.STEP if built.model is None else targets.WHOLE,
            self._takes,
        )
        self.regions = settings.regions_of(built.model, variant.settings)
        if targets.OPTIMIZER not in self._takes:
            settings.refuse_optimizer(variant.settings)
        self.n_done = 0
        self.fed: List[Any] = []  # see `decoding`
        self._n_since_reset: Optional[int] = None  # never
        self._prepare(built)

    def __call__(self, index: int) -> Any:
        """Run step `index`, without waiting for the GPU."""
        answer = self._run(index)
        self._end()
        self.n_done += 1
        self._n_since_reset = (self._n_since_reset or 0) + 1
        return answer

    def refresh(self) -> None:
        """Call the user's own `reset`, outside of what is timed; nothing where there is none."""
        self._n_since_reset = 0

    def ready(self) -> None:
        """Refresh before a step, where as many steps followed each other as may."""
        n = self._n_since_reset
        if self.reset_every is not None and (n is None or n >= self.reset_every):
            self.refresh()

    @property
    def may_fill_up(self) -> bool:
        """Whether it has run, and keeps state of the user's own that nothing resets."""
        return self._is_users_own and self.n_done > 1 and self.reset_every is None

    @property
    def mode(self) -> str:
        """What the steps so far did: training, inference or unknown."""
        return "training" if self.trains else "inference"

    @property
    def can_be_held(self) -> bool:
        """Whether one thread launches all, and no other one begins within a step on its CPU."""
        return True

    @property
    def notes(self) -> List[str]:
        """Sentences that a reader of the run has to know."""
        return []

    def answer(self, shape: int) -> Named:
        """Run one call without optimizer and copy what it answers to the host.

        Copied at once: the next replay of a CUDA graph overwrites its outputs.
        """
        tensors = enumerate(_copies(self._run(shape)))
        return [("{} {}".format(self._answer_name, n), tensor) for n, tensor in tensors]

    def shows(self, name: str) -> bool:
        """Whether a tensor of that name in the reference is compared with one of its answer."""
        return True

    def buffers(self) -> Dict[str, Any]:
        """The model's buffers by "buffer NAME", copied to the host; of a step callable none."""
        named = getattr(self._model, "named_buffers", None)
        return {
            "buffer {}".format(plain(name)): local(buffer.detach()).clone().cpu()
            for name, buffer in (named() if named else ())
        }

    def updates(self, n_steps: int, names: Optional[List[str]]) -> Named:
        """What `n_steps` whole training steps add to the parameters; nothing without training.

        Args:
            n_steps: how many.
            names: of the parameters, or None: those that move, of which `moving` has the names
                afterwards.
        """
        self.moving: List[str] = []
        return []

    def nudge(self, size: float, seed: int) -> None:
        """Multiply each value of the model's parameters by 1 plus a random number of this size."""
        import torch

        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in map(local, self._model.parameters()):
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float32)
                parameter.mul_((1.0 + size * noise).to(parameter.device, parameter.dtype))

    def _prepare(self, built: Built) -> None:
        if hasattr(built.model, "train"):
            built.model.train(False)
        with self._no_grad():
            self._callable = self._compiled(built.model, built.inputs[0])

    def _compiled(self, model: Any, call: Any) -> Any:
        """The model as it is called; modules that are the target are compiled where they stand."""
        for _, module in self.target.modules:
            targets.compile_in_place(module, self._wrap)
        return self._wrap(model, call) if self.target.where == targets.WHOLE else model

    def _run(self, index: int) -> Any:
        args, kwargs = self._inputs[index % self.n_shapes]
        self._mark()
        with self._no_grad(), self._autocast():
            return self._callable(*args, **kwargs)


class UserStep(Step):
    """A callable that makes one whole step, and its model where it was returned too."""

    kind = "returned tensors"
    calls = "step"
    _takes = (targets.STEP,)
    _answer_name = "returned tensor"

    @property
    def mode(self) -> str:
        """Training where the model's parameters got gradients or other values.

        Of a callable without its model nobody can tell.
        """
        if self._model is None:
            return "unknown"
        has_gradients = any(p.grad is not None for p in _parameters(self._model))
        is_updated = _versions(self._model) != self._versions_before
        return "training" if has_gradients or is_updated else "inference"

    @property
    def can_be_held(self) -> bool:
        """Nobody knows what the user's own step starts, such as the workers of a DataLoader."""
        return False

    @property
    def notes(self) -> List[str]:
        """A callable that nobody asked to be compiled whole is, for want of a model."""
        if not self._is_compiled or self.target.where != targets.STEP or self.target.words:
            return []
        return [
            "The step callable was compiled whole, with the backward pass and the optimizer that "
            "it may hold. Return Training(model, batches, loss, optimizer), or (step, model), and "
            "only the model is."
        ]

    def _prepare(self, built: Built) -> None:
        self._user_step: Any = built.step
        self._versions_before = _versions(built.model)
        if self.target.where == targets.STEP:
            self._user_step = self._wrap(self._user_step, built.inputs[0])
        elif self._is_compiled:
            targets.compile_where_it_stands(self.target, built.model, self._wrap)

    def _run(self, index: int) -> Any:
        self._mark()
        with self._autocast():
            return self._user_step()


def _parameters(model: Any) -> List[Any]:
    return list(model.parameters()) if hasattr(model, "parameters") else []


def _versions(model: Any) -> List[int]:
    """How often each parameter was written to, as autograd counts it."""
    return [p._version for p in _parameters(model) if not p.is_inference()]


def sample(tensor: Any) -> Any:
    """At most _SAMPLE values of this rank's part of it, evenly spread, on the host."""
    flat = local(tensor.detach()).reshape(-1)
    return flat[:: max(1, -(-flat.numel() // _SAMPLE))].clone().cpu()


def plain(name: str) -> str:
    """The name of a parameter or buffer without what torch.compile puts into it."""
    return name.replace("_orig_mod.", "")


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
    return [local(tensor.detach()).clone().cpu() for tensor in flatten(output)]


def _autocast(variant: Variant, device: Any) -> Callable[[], ContextManager[Any]]:
    import torch

    if not variant.precision.endswith("-autocast"):
        return contextlib.nullcontext
    dtype = torch.bfloat16 if variant.precision.startswith("bf16") else torch.float16
    return lambda: torch.autocast(device.type, dtype=dtype)


def _step_marker(variant: Variant, device: Any) -> Callable[[], Any]:
    import torch

    if device.type == "cuda" and variant.uses_cuda_graphs:
        mark = getattr(torch.compiler, "cudagraph_mark_step_begin", None)  # 2.1 on
        if mark is not None:
            return mark  # type: ignore[no-any-return]
    return lambda: None
