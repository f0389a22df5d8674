"""What a user's function returns for a training loop or for decoding, read by its names.

Any object will do, since Fusionscope is not installed where it runs: a dict, a SimpleNamespace, a
dataclass, a named tuple or an object of the user's own class. One with `model` and `batches` is a
training loop, one with `model` and one of `generate`, `step`, `inputs` decodes (docs/capture.md).
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .failures import CannotRunError


class Training(NamedTuple):
    """A training loop. One step is `accumulate` batches, then one step of the optimizer.

    batches: a list, which lies on the device before anything is timed; or what gives an iterator
        (a DataLoader, a function), of which each batch is fetched within the step.
    inputs: batch -> what the model is called with: a dict, a tuple or one tensor. None: a dict as
        it is, of a pair the first, else the batch.
    loss: (output, batch) -> a scalar; None: the output's own `loss`, else see `step.default_loss`.
    training_step: batch -> loss, in place of model, inputs and loss.
    optimizer: one, or parameters -> one; None: SGD.
    scheduler: one, or optimizer -> one; stepped after each step of the optimizer.
    clip: the largest norm of all gradients together, or a function of the parameters.
    after_step: called with the model after each step; an EMA's `update_parameters`.
    reset: called between rounds, outside of what is timed.
    """

    model: Any
    batches: Any
    inputs: Optional[Callable[[Any], Any]] = None
    loss: Optional[Callable[[Any, Any], Any]] = None
    training_step: Optional[Callable[[Any], Any]] = None
    optimizer: Any = None
    scheduler: Any = None
    accumulate: int = 1
    clip: Any = None
    after_step: Optional[Callable[[Any], Any]] = None
    ema: Any = None
    reset: Optional[Callable[[], Any]] = None


class Decode(NamedTuple):
    """Generation of tokens; one step is one call of `generate` or of `step`.

    inputs: of each call: a dict, a tuple or one tensor.
    tokens: how many one call makes, over its whole batch.
    reset: called outside of what is timed, before the first and then after every `reset_every`
        calls: empties a cache, and fills in the prompt.
    """

    model: Any
    inputs: Any = ()
    generate: Optional[Callable[..., Any]] = None
    step: Optional[Callable[..., Any]] = None
    tokens: Optional[int] = None
    reset: Optional[Callable[[], Any]] = None
    reset_every: int = 1

    @property
    def call(self) -> Callable[..., Any]:
        """What one step calls."""
        return self.step or self.generate or self.model.generate

    @property
    def calls(self) -> str:
        """Its name, see `model.run.Compiled`."""
        if self.step is not None:
            return "decode step"
        return "model.generate" if self.generate is None else "generate"


def training_of(returned: Any) -> Optional[Training]:
    """Read a training loop; None: it is none.

    Raises:
        CannotRunError: a name is unknown, or a value cannot be used.
    """
    fields = _fields_of(returned, Training._fields)
    if fields is None or not {"model", "batches"} <= set(fields):
        return None
    training = Training(**_known(fields, Training._fields, "Training"))
    if not isinstance(training.accumulate, int) or training.accumulate < 1:
        raise CannotRunError(
            "accumulate is {!r}.".format(training.accumulate),
            "Pass the number of batches of one step, 1 or more.",
        )
    for name in ("inputs", "loss", "training_step", "after_step", "reset"):
        _check_callable(name, getattr(training, name))
    if isinstance(training.batches, (list, tuple)) and not training.batches:
        raise CannotRunError("batches is empty.", "Pass at least one batch.")
    return training


def decode_of(returned: Any) -> Optional[Decode]:
    """Read what decodes; None: it does not.

    Raises:
        CannotRunError: a name is unknown, or a value cannot be used.
    """
    fields = _fields_of(returned, Decode._fields)
    if fields is None or "model" not in fields or len(fields) < 2:
        return None
    decode = Decode(**_known(fields, Decode._fields, "Decode"))
    for name in ("generate", "step", "reset"):
        _check_callable(name, getattr(decode, name))
    if decode.step is None and decode.generate is None and not hasattr(decode.model, "generate"):
        raise CannotRunError(
            "Decode has neither step nor generate, and its model no method generate.",
            "Add step=…, a function that makes the next token of each sequence.",
        )
    return decode


def iterator_of(batches: Any) -> Iterator[Any]:
    """One pass over the batches of what gives an iterator: an iterable, or a function."""
    return iter(batches() if callable(batches) else batches)


def modules_of(loop: Any) -> List[Any]:
    """The modules that belong to a loop, to be moved together: its model, and that of an EMA."""
    owner = getattr(getattr(loop, "after_step", None), "__self__", None)
    candidates = [loop.model, getattr(loop, "ema", None), owner]
    # timm's ModelEma of old is no module, but holds one.
    candidates += [getattr(candidate, "module", None) for candidate in candidates[1:]]
    modules = [module for module in candidates if hasattr(module, "named_parameters")]
    return [m for n, m in enumerate(modules) if not any(m is other for other in modules[:n])]


def _fields_of(value: Any, names: Tuple[str, ...]) -> Optional[Dict[str, Any]]:
    """What it holds by name; None for what is no such object, a model or a step for example."""
    if isinstance(value, dict):
        return dict(value)
    if hasattr(value, "_asdict"):
        return dict(value._asdict())
    if isinstance(value, (tuple, list)) or callable(value):
        return None
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if type(value).__name__ == "SimpleNamespace":
        return dict(vars(value))
    present = {name: getattr(value, name) for name in names if hasattr(value, name)}
    return present or None


def _known(fields: Dict[str, Any], names: Tuple[str, ...], kind: str) -> Dict[str, Any]:
    for name in fields:
        if name not in names:
            raise CannotRunError(
                "{} has no '{}'.".format(kind, name), "It takes {}.".format(", ".join(names))
            )
    return {name: value for name, value in fields.items() if value is not None}


def _check_callable(name: str, value: Any) -> None:
    if value is not None and not callable(value):
        raise CannotRunError(
            "{} is a {}, not a function.".format(name, type(value).__name__), "Pass a function."
        )
