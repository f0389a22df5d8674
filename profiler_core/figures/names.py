"""Names for figures: escaped, and short enough for an axis."""

import re
from html import escape

_LONGEST = 46
# Prefixes that many kernels share.
_NOISE = re.compile(
    r"^(?:void\s+|at::native::|\(anonymous namespace\)::|cutlass::|std::|cub::|c10::)+"
)
_TEMPLATE = re.compile(r"<.*$", re.DOTALL)
_FUNCTOR = re.compile(r"(\w*(?:[Ff]unctor|_kernel_impl|Op)\w*)")
_WRAPPERS = ("Kernel", "Kernel2", "device_kernel")  # cutlass: the argument says which kernel


def plotly_text(name: str) -> str:
    """A name as Plotly shows it: it takes tags for markup, and knows no entity of a quote."""
    return escape(name, quote=False)


def plain_kernel_name(name: str) -> str:
    """The whole name without return type and leading namespaces."""
    return _NOISE.sub("", name) or name


def short_kernel_name(name: str, longest: int = _LONGEST) -> str:
    """Without namespaces and arguments; functors and cutlass kernels keep their own name.

    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …"
    -> "vectorized_elementwise_kernel CUDAFunctor_add".
    """
    outer = plain_kernel_name(name)
    base = _TEMPLATE.sub("", outer).split("(")[0].strip() or outer
    arguments = outer[len(base) :]
    if base in _WRAPPERS and arguments.startswith("<"):
        base = plain_kernel_name(arguments[1:]).split("<")[0].split(",")[0].rstrip(">") or base
        arguments = ""
    specific = next((functor for functor in _FUNCTOR.findall(arguments) if functor not in base), "")
    short = f"{base} {specific}".strip()
    return short if len(short) <= longest else f"{short[: longest - 1]}…"
