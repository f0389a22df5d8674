"""Kernel names short enough for an axis, and still telling."""

import re

_LONGEST = 46
_NOISE = re.compile(r"^(void|at::native::|\(anonymous namespace\)::|cutlass::|std::|cub::)+\s*")
_TEMPLATE = re.compile(r"<.*$", re.DOTALL)


def short_kernel_name(name: str, longest: int = _LONGEST) -> str:
    """Without return type, namespaces and arguments; functors keep their own name.

    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …"
    -> "vectorized_elementwise_kernel CUDAFunctor_add".
    """
    outer = name
    while (stripped := _NOISE.sub("", outer)) != outer:
        outer = stripped
    base = _TEMPLATE.sub("", outer).split("(")[0].strip() or outer
    inner = re.findall(r"(\w*(?:[Ff]unctor|_kernel_impl|Op)\w*)", outer[len(base) :])
    specific = next((word for word in inner if word not in base), "")
    short = f"{base} {specific}".strip()
    return short if len(short) <= longest else f"{short[: longest - 1]}…"
