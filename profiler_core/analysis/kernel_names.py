"""Names of kernels, short enough for an axis or a column, and still told apart.

One cutter for all: `sentence.clipped` takes out the middle, since names of one family begin alike
and end in what tells them apart ("…_relu_6", "…_relu_7").
"""

import re
from collections.abc import Mapping, Sequence

from profiler_core.analysis.wording.sentence import clipped

_LONGEST = 46
_WHOLE = 1 << 20  # characters: nothing is cut
_BEFORE = 6  # characters before a difference
# Prefixes that many kernels share.
_NOISE = re.compile(
    r"^(?:void\s+|at::native::|\(anonymous namespace\)::|cutlass::|std::|cub::|c10::)+"
)
_TEMPLATE = re.compile(r"<.*$", re.DOTALL)
_FUNCTOR = re.compile(r"(\w*(?:[Ff]unctor|_kernel_impl|Op)\w*)")
_WRAPPERS = ("Kernel", "Kernel2", "device_kernel")  # cutlass: the argument says which kernel


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
        base = plain_kernel_name(arguments[1:]).split("<")[0].split(",")[0].split(">")[0] or base
        arguments = ""
    specific = next((functor for functor in _FUNCTOR.findall(arguments) if functor not in base), "")
    short = f"{base} {specific}".strip()
    return clipped(short, longest)


def kernel_labels(names: Sequence[str], longest: int = _LONGEST) -> list[str]:
    """Short names that differ wherever the names do, in the same order.

    Args:
        names: of kernels, whole.
        longest: characters of a label.
    """
    whole = {name: short_kernel_name(name, _WHOLE) for name in names}
    for alike in _alike(whole):
        whole |= {name: plain_kernel_name(name) for name in alike}
    label_of = {name: clipped(text, longest) for name, text in whole.items()}
    for alike in _alike(label_of):
        texts = [whole[name] for name in alike]
        label_of |= zip(alike, _around_difference(texts, longest), strict=True)
    # What is left differs in what no label has room for.
    left = [name for alike in _alike(label_of) for name in alike]
    cut = longest - len(f" ({len(left)})")
    for number, name in enumerate(left, 1):
        label_of[name] = f"{clipped(label_of[name], cut)} ({number})"
    return [label_of[name] for name in names]


def _alike(label_of: Mapping[str, str]) -> list[list[str]]:
    """The names that share a label, label by label."""
    names_of: dict[str, list[str]] = {}
    for name, label in label_of.items():
        names_of.setdefault(label, []).append(name)
    return [names for names in names_of.values() if len(names) > 1]


def _around_difference(texts: Sequence[str], longest: int) -> list[str]:
    """The beginning, and what comes from the first difference on: "sm90_xmm…_tilesize64x64…".

    They share their ends: they would not be alike when cut in their middle.
    """
    letters = enumerate(zip(*texts, strict=False))
    first = next((place for place, each in letters if len(set(each)) > 1), 0)
    head = longest // 4
    room = longest - head - 1
    labels = []
    for text in texts:
        different = text[max(head, first - _BEFORE) :]
        if len(different) > room:
            different = f"{different[: room - 1]}…"
        labels.append(text if len(text) <= longest else f"{text[:head]}…{different}")
    return labels
