"""An operator's arguments as a trace keeps them: JSON arrays as text, one entry for an argument."""

from collections.abc import Sequence

import msgspec

from profiler_core.digits import is_whole

# Kineto's names of C++ types -> torch's short ones (torch.utils._dtype_abbrs), which graphs print.
_SHORT = {
    "float": "f32", "double": "f64", "c10::Half": "f16", "c10::BFloat16": "bf16",
    "long int": "i64", "long": "i64", "long long": "i64", "int": "i32", "short int": "i16",
    "short": "i16", "signed char": "i8", "unsigned char": "u8", "bool": "b8",
    "unsigned short": "u16", "short unsigned int": "u16", "unsigned int": "u32",
    "unsigned long": "u64", "long unsigned int": "u64",
    "c10::complex<c10::Half>": "c32", "c10::complex<float>": "c64", "c10::complex<double>": "c128",
    "c10::Float8_e4m3fn": "f8e4m3fn", "c10::Float8_e5m2": "f8e5m2",
    "c10::Float8_e4m3fnuz": "f8e4m3fnuz", "c10::Float8_e5m2fnuz": "f8e5m2fnuz",
    "c10::Float8_e8m0fnu": "f8e8m0fnu",
}  # fmt: skip
# Tensors that a product reads; one more is its result, `out=`, as generated code calls it.
_OPERANDS = {"aten::mm": 2, "aten::bmm": 2, "aten::addmm": 3, "aten::baddbmm": 3}
_MOST_OF_LIST = 4  # tensors that are shown
_LIST = "TensorList"  # the type of a list of tensors


def n_operands(name: str, n_tensors: int) -> int:
    """How many of the tensors that an operator is handed it reads: not its result, `out=`."""
    is_handed_result = n_tensors - 1 == _OPERANDS.get(name)
    return n_tensors - is_handed_result


def json_list(text: str | None) -> list[object]:
    """The entries of a JSON array; empty for None and for text that is no JSON array."""
    try:
        value = msgspec.json.decode((text or "[]").encode())
    except (msgspec.DecodeError, RecursionError):
        return []
    return value if isinstance(value, list) else []


def whole_numbers(text: str) -> list[int] | None:
    """A list of them or a single one as Kineto writes it ("[1, -1]", "3"); None for other text."""
    parts = [part.strip() for part in text.strip("[]").split(",")]
    whole = all(is_whole(part.removeprefix("-")) for part in parts)
    return [int(part) for part in parts] if whole else None


def truths(text: str) -> list[bool]:
    """A list of truth values as Kineto writes it: "[True, False]"; what is no "True" is False."""
    return [part.strip() == "True" for part in text.strip("[]").split(",")]


def tensor_text(shape: Sequence[object], kind: str) -> str:
    """A shape and its type, by Kineto's name of it: "8×128 f32"; an unknown type as it is."""
    return f"{'×'.join(str(n) for n in shape)} {_SHORT.get(kind, kind)}".strip()


def inputs_and_results(name: str, dims: str | None, types: str | None) -> tuple[str, str]:
    """The shapes and types of the tensors that an operator reads, as people write them.

    `[["8","128"],[]]` and `["float","Scalar"]` become "8×128 f32". Apart from them the tensor that
    a product is handed for its result; "" where there is none: a trace records what an operator is
    handed, not what it makes.

    A list of tensors, whose types no trace has, is "[8×128, 128]". Scalars are left out; "" where
    no tensor remains. Dims that are no JSON array are shown as they are.
    """
    texts = [] if dims is None else _texts(dims, types)
    of_arguments = n_operands(name, len(texts))
    return " · ".join(texts[:of_arguments]), " · ".join(texts[of_arguments:])


def _texts(dims: str, types: str | None) -> list[str]:
    """One for each argument that is a tensor or a list of them."""
    shapes, kinds = json_list(dims), json_list(types)
    if not shapes and dims != "[]":
        return [dims]
    texts = []
    for number, shape in enumerate(shapes):
        if not isinstance(shape, list) or not shape:
            continue
        if isinstance(shape[0], list):
            texts.append(_list_text([each for each in shape if isinstance(each, list)]))
        else:
            kind = str(kinds[number]) if number < len(kinds) else ""
            texts.append(tensor_text(shape, kind))
    return texts


def tensor_texts(dims: str | None, types: str | None) -> list[str]:
    """Each tensor argument in its place: "8×128 f32", of one value "f32"; scalars are left out."""
    pairs = zip(json_list(dims), json_list(types), strict=False)
    return [
        tensor_text(shape, str(kind))
        for shape, kind in pairs
        if isinstance(shape, list) and (shape or kind in _SHORT)
    ]


def lists_of_shapes(dims: str | None, types: str | None) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Of each argument that is a list of tensors their shapes; () for a list without shapes."""
    return tuple(
        tuple(tuple(n for n in shape if isinstance(n, int)) for shape in shapes)
        for kind, shapes in zip(json_list(types), json_list(dims), strict=False)
        if kind == _LIST and isinstance(shapes, list) and all(isinstance(s, list) for s in shapes)
    )


def has_unsized_list(dims: str | None, types: str | None) -> bool:
    """Is an argument a list of tensors whose shapes torch left out?

    It writes [] for a list of more than 30 (TENSOR_LIST_DISPLAY_LENGTH_LIMIT of torch's profiler).
    """
    return any(
        kind == _LIST and not shape
        for shape, kind in zip(json_list(dims), json_list(types), strict=False)
    )


def _list_text(shapes: Sequence[Sequence[object]]) -> str:
    """The first tensors of a list, and how many there are besides."""
    texts = [tensor_text(shape, "") or "scalar" for shape in shapes]
    n_more = len(texts) - _MOST_OF_LIST
    more = [f"{n_more} more"] if n_more > 0 else []
    return f"[{', '.join([*texts[:_MOST_OF_LIST], *more])}]"
