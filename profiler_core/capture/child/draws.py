"""Random numbers that eager drew, given to its double-precision reference as well.

A generator of the same seed gives other numbers in fp64 than in fp32, so a model that draws
(dropout, a variational autoencoder) would be measured against a reference of another sample.
An operator draws if torch tags it `nondeterministic_seeded` and its generator moved.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, ContextManager, Iterator, List, NamedTuple, Tuple

from .accelerator import generator_states
from .operators import intercepted, operator_name

# Their result is what they drew; that of the others also follows from their inputs.
_SAMPLERS = (
    "bernoulli", "binomial", "cauchy", "exponential", "geometric", "log_normal", "multinomial",
    "normal", "poisson", "rand", "randint", "randint_like", "randn", "randn_like", "rand_like",
    "random", "randperm", "uniform",
)  # fmt: skip
_DROPOUT = "native_dropout"


class DrawError(TypeError):
    """The two passes draw differently."""


class DrawsInsideError(TypeError):
    """An operator draws inside of its computation, so nobody else can draw the same."""


class Draw(NamedTuple):
    """The tensors that an operator drew; of a dropout its mask."""

    operator: str
    tensors: Tuple[Any, ...]


@contextmanager
def recorded(draws: List[Draw]) -> Iterator[None]:
    """Append what eager code inside draws, in its order.

    Raises:
        DrawsInsideError: an operator does, such as attention with dropout on a GPU.
    """

    def note(operator: Any, _args: Any, result: Any) -> Any:
        name = _name(operator)
        if name == _DROPOUT:
            draws.append(Draw(name, (result[1].clone(),)))
        elif name in _SAMPLERS:
            draws.append(Draw(name, tuple(tensor.clone() for tensor in _tensors(result))))
        else:
            raise DrawsInsideError("{} draws random numbers inside of its computation".format(name))
        return result

    with _drawn(note):
        yield


@contextmanager
def replayed(draws: List[Draw]) -> Iterator[None]:
    """Let code inside draw what was recorded, in the same order.

    Raises:
        DrawError: it draws by another operator, in another shape, more often or less.
    """
    left = list(reversed(draws))

    def give(operator: Any, args: Any, result: Any) -> Any:
        name = _name(operator)
        draw = left.pop() if left else Draw("nothing", ())
        if draw.operator != name:
            raise DrawError("{} draws where eager drew by {}".format(name, draw.operator))
        if name == _DROPOUT:
            mask = draw.tensors[0]
            scale = 1.0 / (1.0 - args[1]) if args[1] < 1.0 else 0.0
            _fill(result[0], args[0] * mask * scale)
            _fill(result[1], mask)
        else:
            for tensor, drawn in zip(_tensors(result), draw.tensors):
                _fill(tensor, drawn)
        return result

    with _drawn(give):
        yield
    if left:
        raise DrawError("eager drew {} times more".format(len(left)))


def _drawn(answer: Callable[[Any, Any, Any], Any]) -> ContextManager[None]:
    """Let `answer(operator, args, result)` give each result that is drawn inside."""
    import torch

    def call(operator: Any, args: Any, kwargs: Any) -> Any:
        if torch.Tag.nondeterministic_seeded not in getattr(operator, "tags", ()):
            return operator(*args, **kwargs)
        before = generator_states()
        result = operator(*args, **kwargs)
        own = kwargs.get("generator") is not None
        if own or not all(a.equal(b) for a, b in zip(before, generator_states())):
            return answer(operator, args, result)
        return result

    return intercepted(call)


def _name(operator: Any) -> str:
    return operator_name(operator).rstrip("_")


def _tensors(result: Any) -> Tuple[Any, ...]:
    return tuple(result) if isinstance(result, (list, tuple)) else (result,)


def _fill(tensor: Any, values: Any) -> None:
    if tensor.shape != values.shape:
        raise DrawError(
            "{} numbers are drawn where eager drew {}".format(
                list(tensor.shape), list(values.shape)
            )
        )
    tensor.copy_(values)
