"""Which values a convolution, its backward or pooling has to read, by counting along dimensions.

At place i the value k of a window meets the value `stride * i + dilation * k - padding` of what it
slides over. A stride that is longer than the window skips values: with 2 a window of 1×1 reads a
quarter of an image. So does what is left behind the last window, and what meets padding alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from profiler_core.analysis.sliding_windows import (
    Shape,
    arguments_of,
    gradients_asked,
    is_transposed,
    n_pooled,
    one_each,
    result_shape,
    slide_arguments,
    strides_of_pooling,
)

_LONGEST_WINDOW = 1 << 16  # counted value by value: a file may say anything


@dataclass(frozen=True, slots=True)
class _Slide:
    """A window that slides along one dimension."""

    length: int  # of what it slides over
    n_places: int
    window: int
    stride: int
    padding: int
    dilation: int


def values_read(
    name: str, shapes: Sequence[Sequence[int] | None], concrete: Sequence[str]
) -> tuple[int, ...] | None:
    """Values that it needs of each argument, of a backward for the gradients that are asked for.

    Args:
        name: "aten::convolution".
        shapes: of its arguments.
        concrete: the arguments that are no tensors, as for `result_shape`.

    Returns:
        One number for each of `shapes`, 0 where it is no tensor; None where the arguments do not
        tell.
    """
    given = arguments_of(name, concrete)
    sizes = [0 if shape is None else prod(shape) for shape in shapes]
    tensors = [tuple(shape) for shape in shapes[:3] if shape is not None]
    if "gradient" in given:
        return _by_gradients(name, concrete, tensors, sizes) if len(tensors) == 3 else None
    result = result_shape(name, shapes, concrete)
    if result is None:
        return None
    if "weight" in given:
        values, weight = tensors[:2]
        met = _convolution(name, concrete, values, weight, result)
        if met is None:
            return None
        over, places, taps = met
        n = len(weight) - 2
        read = prod(values[:-n]) * (places if is_transposed(name, concrete) else over)
        return read, prod(weight[:2]) * taps, *sizes[2:]
    n_along = n_pooled(name)
    if n_along is None or "output_size" in given:
        return tuple(sizes)  # where a size is asked for, windows lie side by side
    window = one_each(given, "kernel_size", n_along)
    rest = strides_of_pooling(given, n_along), one_each(given, "padding", n_along)
    dilation = one_each(given, "dilation", n_along) if "dilation" in given else [1] * n_along
    met = _met(tensors[0][-n_along:], result[-n_along:], window, *rest, dilation)
    return None if met is None else (prod(tensors[0][:-n_along]) * met[0], *sizes[1:])


def _by_gradients(
    name: str, concrete: Sequence[str], shapes: Sequence[Shape], sizes: Sequence[int]
) -> tuple[int, ...] | None:
    gradient, values, weight = shapes
    if len(weight) < 3 or not len(gradient) == len(values) == len(weight):
        return None
    met = _convolution(name, concrete, values, weight, gradient)
    if met is None:
        return None
    over, places, taps = met
    if is_transposed(name, concrete):
        over, places = places, over
    of_input, of_weight, of_bias = gradients_asked(name, concrete)
    needed = prod(gradient[:2]) * places * (of_input or of_weight)
    return (
        sizes[0] if of_bias else needed,
        prod(values[:2]) * over * of_weight,
        prod(weight[:2]) * taps * of_input,
        *(0 for _ in sizes[3:]),
    )


def _convolution(
    name: str, concrete: Sequence[str], values: Shape, weight: Shape, result: Shape
) -> tuple[int, int, int] | None:
    n = len(weight) - 2
    given = arguments_of(name, concrete)
    over, places = (result, values) if is_transposed(name, concrete) else (values, result)
    return _met(over[-n:], places[-n:], weight[2:], *slide_arguments(given, n))


def _met(*along: Sequence[int] | None) -> tuple[int, int, int] | None:
    """Of all dimensions together; None where an argument is not known.

    Args:
        along: of each dimension the fields of a slide, in their order.
    """
    fields = [numbers for numbers in along if numbers is not None]
    if len(fields) < len(along):
        return None
    slides = [_Slide(*numbers) for numbers in zip(*fields, strict=True)]
    if any(slide.window > _LONGEST_WINDOW or slide.stride < 1 for slide in slides):
        return None
    over, places, taps = zip(*(_met_along(slide) for slide in slides), strict=True)
    return prod(over), prod(places), prod(taps)


@lru_cache(maxsize=4096)  # calls of one layer, and of layers alike, slide alike
def _met_along(slide: _Slide) -> tuple[int, int, int]:
    """How many values that it slides over, places, and values of its own meet another one."""
    n_taps = 0
    places: list[tuple[int, int]] = []
    values: list[tuple[int, int]] = []
    for tap in range(slide.window):
        before = slide.padding - slide.dilation * tap  # the place i meets `stride * i - before`
        first = max(0, -(-before // slide.stride))
        behind = min(slide.n_places, (slide.length - 1 + before) // slide.stride + 1)
        if first >= behind:
            continue
        n_taps += 1
        places.append((first, behind))
        # Values of one remainder side by side, so that those that are met are a span.
        turn, remainder = divmod(slide.stride * first - before, slide.stride)
        start = remainder * slide.length + turn
        values.append((start, start + behind - first))
    return _n_covered(values), _n_covered(places), n_taps


def _n_covered(spans: Iterable[tuple[int, int]]) -> int:
    """How many whole numbers lie in one of the spans: each from its first to before its last."""
    n, reached = 0, 0
    for first, behind in sorted(spans):
        n += max(0, behind - max(first, reached))
        reached = max(reached, behind)
    return n
