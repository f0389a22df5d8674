"""An operator's arguments as a trace keeps them: JSON arrays as text, one entry for an argument."""

import msgspec


def json_list(text: str | None) -> list[object]:
    """The entries of a JSON array; empty for None and for text that is no JSON array."""
    try:
        value = msgspec.json.decode((text or "[]").encode())
    except (msgspec.DecodeError, RecursionError):
        return []
    return value if isinstance(value, list) else []


def arguments_text(dims: str | None, types: str | None) -> str | None:
    """The shapes and types of the tensor arguments, as people write them.

    `[["8","128"],[]]` and `["float","Scalar"]` become "8×128 float".

    Scalars and lists of tensors are left out; None where no tensor remains. Dims that are no JSON
    array are shown as they are.
    """
    if dims is None:
        return None
    shapes, kinds = json_list(dims), json_list(types)
    if not shapes and dims != "[]":
        return dims
    texts = []
    for number, shape in enumerate(shapes):
        if isinstance(shape, list) and shape and not isinstance(shape[0], list):
            kind = str(kinds[number]) if number < len(kinds) else ""
            texts.append(f"{'×'.join(str(n) for n in shape)} {kind}".strip())
    return " · ".join(texts) or None
