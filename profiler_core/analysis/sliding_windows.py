"""What the arguments of a convolution or pooling tell: its result's shape, its gradients.

Strides, paddings and the like are no tensors: a trace with shapes has them as "Concrete Inputs",
by position (torch 2.15: aten/src/ATen/native/native_functions.yaml). A padding by its name, as of
`F.conv2d(…, padding="same")`, is not recorded there, but it is of the `aten::convolution` inside.
"""

import re
from collections.abc import Mapping, Sequence

from profiler_core.analysis.operator_arguments import truths, whole_numbers
from profiler_core.digits import is_whole

Shape = tuple[int, ...]

_CONVOLUTION = "input weight bias stride padding dilation transposed output_padding groups"
_AVERAGE = "input kernel_size stride padding ceil_mode"
_MAXIMUM = "input kernel_size stride padding dilation ceil_mode"
_ADAPTIVE = "input output_size"
_BACKWARD = (
    "gradient input weight bias_sizes stride padding dilation transposed output_padding groups "
    "output_mask"
)
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    f"aten::{name}": tuple(arguments.split())
    for arguments, names in (
        (_CONVOLUTION, "convolution _convolution convolution_overrideable"),
        ("input weight padding stride dilation groups", "cudnn_convolution"),
        (_MAXIMUM, "max_pool1d max_pool2d max_pool3d"),
        (_MAXIMUM, "max_pool2d_with_indices max_pool3d_with_indices"),
        (_AVERAGE, "avg_pool1d avg_pool2d avg_pool3d"),
        (_ADAPTIVE, "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d"),
        (_ADAPTIVE, "_adaptive_avg_pool2d _adaptive_avg_pool3d"),
        (_BACKWARD, "convolution_backward convolution_backward_overrideable"),
    )
    for name in names.split()
}
WITH_WINDOWS = frozenset(_ARGUMENTS)
_N_DIMENSIONS = re.compile(r"pool(\d)d")


def result_shape(
    name: str, shapes: Sequence[Sequence[int] | None], concrete: Sequence[str]
) -> Shape | None:
    """Of a convolution or pooling; None where its arguments do not tell.

    Args:
        name: "aten::convolution".
        shapes: of its arguments, those first that are tensors.
        concrete: the arguments that are no tensors, as Kineto writes them ("[1, 1]"), each in the
            place of the argument.
    """
    given = arguments_of(name, concrete)
    if "weight" in given:
        return _convolved(shapes, given) if "gradient" not in given else None
    n = n_pooled(name)
    return _pooled(shapes, given, n) if n is not None else None


def is_transposed(name: str, concrete: Sequence[str]) -> bool:
    """Does it slide its window over its result, as `nn.ConvTranspose2d` and its gradients do?"""
    return arguments_of(name, concrete).get("transposed") == "True"


def gradients_asked(name: str, concrete: Sequence[str]) -> tuple[bool, bool, bool]:
    """Which gradients a convolution's backward computes: of its input, weight and bias.

    Those of input and weight, where the trace does not say.
    """
    asked = truths(arguments_of(name, concrete).get("output_mask", ""))
    return (asked[0], asked[1], asked[2]) if len(asked) == 3 else (True, True, False)


def arguments_of(name: str, concrete: Sequence[str]) -> dict[str, str]:
    """What is recorded of its arguments, by their names; empty for another operator."""
    return dict(zip(_ARGUMENTS.get(name, ()), concrete, strict=False))


def _convolved(shapes: Sequence[Sequence[int] | None], given: Mapping[str, str]) -> Shape | None:
    values, weight = (*shapes[:2], None, None)[:2]
    if values is None or weight is None or len(weight) < 3 or len(values) < len(weight) - 1:
        return None
    n = len(weight) - 2
    window = weight[2:]
    stride, padding, dilation = slide_arguments(given, n)
    if stride is None or padding is None or dilation is None or min(stride) < 1:
        return None
    batch, size = values[: -n - 1], values[-n:]
    reach = [d * (k - 1) - 2 * p for d, k, p in zip(dilation, window, padding, strict=True)]
    if given.get("transposed") == "True":
        added, groups = one_each(given, "output_padding", n), given.get("groups", "")
        if added is None or not is_whole(groups):
            return None
        slides = zip(size, stride, reach, added, strict=True)
        out = [(length - 1) * s + r + a + 1 for length, s, r, a in slides]
        return (*batch, weight[1] * int(groups), *out)
    out = [(length - r - 1) // s + 1 for length, s, r in zip(size, stride, reach, strict=True)]
    return (*batch, weight[0], *out)


def _pooled(
    shapes: Sequence[Sequence[int] | None], given: Mapping[str, str], n: int
) -> Shape | None:
    values = shapes[0] if shapes else None
    if values is None or len(values) <= n:
        return None
    if "output_size" in given:
        size = one_each(given, "output_size", n)
        return (*values[:-n], *size) if size is not None else None
    window, padding = one_each(given, "kernel_size", n), one_each(given, "padding", n)
    stride = strides_of_pooling(given, n)
    dilation = one_each(given, "dilation", n) if "dilation" in given else [1] * n
    if window is None or stride is None or padding is None or dilation is None or min(stride) < 1:
        return None
    out = []
    for length, k, s, p, d in zip(values[-n:], window, stride, padding, dilation, strict=True):
        last = length + 2 * p - d * (k - 1) - 1  # where the last window may begin
        if given.get("ceil_mode") == "True":
            starts = -(-last // s) + 1
            # None begins in the padding behind.
            out.append(starts - ((starts - 1) * s >= length + p))
        else:
            out.append(last // s + 1)
    return (*values[:-n], *out)


def in_their_places(name: str, given: Mapping[str, str]) -> tuple[str, ...]:
    """Arguments by their names as `concrete` has them."""
    return tuple(given.get(argument, "") for argument in _ARGUMENTS[name])


def n_pooled(name: str) -> int | None:
    """Along how many dimensions it pools; None: it is no pooling."""
    pooled = _N_DIMENSIONS.search(name)
    return None if pooled is None else int(pooled[1])


def slide_arguments(given: Mapping[str, str], n: int) -> tuple[list[int] | None, ...]:
    """Stride, padding and dilation of a convolution, each one a dimension."""
    return tuple(one_each(given, key, n) for key in ("stride", "padding", "dilation"))


def strides_of_pooling(given: Mapping[str, str], n: int) -> list[int] | None:
    """One a dimension: where none are given, those of its window."""
    return one_each(given, "kernel_size" if given.get("stride") == "[]" else "stride", n)


def one_each(given: Mapping[str, str], argument: str, n: int) -> list[int] | None:
    """A list's values, one a dimension; None where they are not recorded."""
    text = given.get(argument, "")
    values = whole_numbers(text) if text.startswith("[") else None
    if values is None or min(values) < 0 or len(values) not in (1, n):
        return None
    return values * n if len(values) == 1 else values
