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
    r"^(?:void\s+|at::native::|at::cuda::|\(anonymous namespace\)::|cutlass::|std::|cub::|c10::)+"
)
# A kernel returns nothing; some say so through a condition on their template.
_RETURN = re.compile(r"^(?:typename\s+)?std::enable_if(?:_t)?<.*?,\s*void>(?:::type)?\s+")
_TEMPLATE = re.compile(r"<.*$", re.DOTALL)
_PART = re.compile(r"[A-Za-z0-9.]+")
_WORD = re.compile(r"\w+")
_ANONYMOUS = "(anonymous namespace)::"
# In a word of a template's arguments: what is computed, not the loop that all kernels share.
_FUNCTOR = re.compile(
    r"^(?!gpu_kernel_impl).*(?:[Ff]unctor|_kernel_impl|KernelImpl|_kernel_cuda|Op)"
)
# The function whose lambda is a template's argument: "launch_clamp_scalar(at::TensorIteratorBase".
_FUNCTION = re.compile(
    r"\b(?!(?:lambda|operator|decltype|sizeof)\b)[A-Za-z_]\w*(?=(?:<[^<>]*>)?\()"
)
# cutlass: the argument says which kernel
_WRAPPER = re.compile(r"(?:cutlass\w*::)?(?:Kernel2?|device_kernel)")

# Names as C++ compilers write them: lengths before identifiers, and codes of one or two letters for
# the rest. Only what may stand between identifiers is known here; at anything else reading ends.
_MANGLED = re.compile(r"_Z(?:N[rVK]*)?(?=[0-9])")
_IDENTIFIER = re.compile(r"[1-9][0-9]{0,3}(?=[A-Za-z_])")
_BETWEEN = re.compile(
    r"L[a-z]n?[0-9]+E|S[0-9A-Z]*_|S[tabsiod]|T[0-9]*_|DF16[_b]|D[a-z]|[a-zEIJKNOPRV]"
)
_NESTS = {"I": 1, "J": 1, "N": 1, "E": -1}
_NO_NAMESPACE = "_GLOBAL__N_"  # of an anonymous one


def plain_kernel_name(name: str) -> str:
    """The whole name without return type and leading namespaces."""
    return _NOISE.sub("", _RETURN.sub("", name)) or name


def unmangled_name(name: str) -> str:
    """The identifiers of a mangled name, and the first of its template's; any other as it is.

    "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdI…" -> "ck_tile::kentry…Rmsnorm2dFwd".
    """
    return _demangled(name)[0] or name


def _demangled(name: str) -> tuple[str, str]:
    """(identifiers, all that follows the first of them in the name); ("", "") where not mangled."""
    start = _MANGLED.match(name)
    if start is None:
        return "", ""
    own, begin = _identifiers(name, start.end())
    argument, _ = _identifiers(name, _first_argument(name, begin))
    parts = (plain_kernel_name(part) for part in (own, argument) if part)
    return ("…".join(parts), name[begin:]) if own else ("", "")


def _first_argument(name: str, begin: int) -> int:
    """Where the first identifier among a template's arguments begins, or what follows them all.

    The end of the name where there are no arguments, or some that cannot be read.
    """
    if not name.startswith("I", begin):
        return len(name)
    depth = 0
    while code := _BETWEEN.match(name, begin):
        depth += _NESTS.get(code[0], 0)
        begin = code.end()
        if depth == 0 or _IDENTIFIER.match(name, begin):
            return begin
    return len(name)


def _identifiers(name: str, begin: int) -> tuple[str, int]:
    """(identifiers right behind each other, where they end): a cut name ends within its last."""
    identifiers = []
    while length := _IDENTIFIER.match(name, begin):
        begin = min(len(name), length.end() + int(length[0]))
        identifiers.append(name[length.end() : begin])
    return "::".join(part for part in identifiers if not part.startswith(_NO_NAMESPACE)), begin


def short_kernel_name(name: str, longest: int = _LONGEST) -> str:
    """Without namespaces and arguments; functors and cutlass kernels keep their own name.

    A mangled name is as `unmangled_name` reads it.

    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …"
    -> "vectorized_elementwise_kernel CUDAFunctor_add".
    """
    identifiers, _ = _demangled(name)
    if identifiers:
        return clipped(identifiers, longest)
    outer = plain_kernel_name(name)
    head, template, rest = outer.partition("<")
    outer = head.replace(_ANONYMOUS, "") + template + rest  # its bracket opens no arguments
    base = _TEMPLATE.sub("", outer).split("(")[0].strip() or outer
    arguments = outer[len(base) :]
    if _WRAPPER.fullmatch(base) and arguments.startswith("<"):
        base = plain_kernel_name(arguments[1:]).split("<")[0].split(",")[0].split(">")[0] or base
        arguments = ""
    return clipped(f"{base} {_computed(base, arguments)}".strip(), longest)


def _computed(base: str, arguments: str) -> str:
    """The word of a template's arguments that says what it computes; "" where none does."""
    words = (word[0] for word in _WORD.finditer(arguments))
    functor = next((word for word in words if _FUNCTOR.search(word) and word not in base), "")
    if functor or not arguments.startswith("<"):
        return functor
    function = _FUNCTION.search(arguments)
    return function[0] if function else ""


def kernel_labels(names: Sequence[str], longest: int = _LONGEST) -> list[str]:
    """Short names that differ wherever the names do, in the same order.

    Args:
        names: of kernels, whole.
        longest: characters of a label.
    """
    whole = {name: short_kernel_name(name, _WHOLE) for name in names}
    for alike in _alike(whole):
        whole |= {name: _in_full(name) for name in alike}
    label_of = {name: clipped(text, longest) for name, text in whole.items()}
    for alike in _alike(label_of):
        texts = [whole[name] for name in alike]
        labels = _around_difference(texts, longest)
        if len(set(labels)) < len(labels):
            labels = _by_differing_parts(texts, longest)
        label_of |= zip(alike, labels, strict=True)
    # What is left differs in what no label has room for.
    left = [name for alike in _alike(label_of) for name in alike]
    cut = longest - len(f" ({len(left)})")
    for number, name in enumerate(left, 1):
        label_of[name] = f"{clipped(label_of[name], cut)} ({number})"
    return [label_of[name] for name in names]


def _by_differing_parts(texts: Sequence[str], longest: int) -> list[str]:
    """The beginning and those parts alone that tell them apart: "sm80_x…tilesize32x32x8"."""
    parts = [_PART.findall(text) for text in texts]
    stems: list[str] = []  # of parts that tell: "tilesize" has another number in each name
    for part in (part for each in parts for part in each):
        more = [*stems, _stem(part)]
        if len(set(_with_stems(parts, more))) > len(set(_with_stems(parts, stems))):
            stems = more
    head = longest // 4
    return [
        clipped("…".join((text[:head], *own)), longest)
        for text, own in zip(texts, _with_stems(parts, stems), strict=True)
    ]


def _with_stems(parts: Sequence[Sequence[str]], stems: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(part for part in each if _stem(part) in stems) for each in parts]


def _stem(part: str) -> str:
    return part.rstrip("0123456789x")


def _in_full(name: str) -> str:
    """What tells a name from those with the same short one."""
    return " ".join(_demangled(name)).strip() or plain_kernel_name(name)


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
    first = next((position for position, column in letters if len(set(column)) > 1), 0)
    head = longest // 4
    room = longest - head - 1
    labels = []
    for text in texts:
        different = text[max(head, first - _BEFORE) :]
        if len(different) > room:
            different = f"{different[: room - 1]}…"
        labels.append(text if len(text) <= longest else f"{text[:head]}…{different}")
    return labels
