"""Options of a backend, as words of a variant: `openvino+config.INFERENCE_PRECISION_HINT=f32`.

`+KEY=VALUE` follows the base. A dot in the key goes one level deeper, except for Inductor, whose
own names have dots (`default+triton.cudagraphs=true`). Values: true, false, none, numbers, text;
"torch.float16" is a dtype; a list is parted by colons, where the option is known to be one.
"""

import re
from collections.abc import Sequence
from typing import Any

from profiler_core.capture.child.backend import Backend, Option
from profiler_core.capture.child.backends import BY_NAME, declared
from profiler_core.errors import BadInput

Options = tuple[tuple[str, str], ...]

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None}
# Kind of an option -> what its value may be once it is read, and how to write it. None is the
# backend's own default.
_TYPES: dict[str, tuple[type, str]] = {
    "switch": (bool, "true or false"),
    "whole number": (int, "a whole number"),
}

# Backend -> the options worth offering.
OPTIONS: dict[str, tuple[Option, ...]] = {
    name: backend.options for name, backend in BY_NAME.items() if backend.options
}


def parse_word(option_text: str, text: str) -> tuple[str, str]:
    """Read `KEY=VALUE`.

    Args:
        option_text: one part of the variant, with an equals sign.
        text: the whole variant, for the sentence.

    Raises:
        BadInput: the key is no name, or the value is empty.
    """
    key, _, value = (part.strip() for part in option_text.partition("="))
    if not _KEY.fullmatch(key) or not value:
        raise BadInput(
            f"Variant '{text}' has the option '{option_text}', which cannot be read.",
            remedy="Write it like openvino+config.INFERENCE_PRECISION_HINT=f32.",
        )
    return key, value


def check(backend: str, options: Options, text: str) -> None:
    """Refuse options that the backend would reject or silently ignore.

    Raises:
        BadInput: with the keys that are known.
    """
    keys = [key for key, _ in options]
    for key in keys:
        if keys.count(key) > 1:
            raise BadInput(
                f"Variant '{text}' gives option {key} twice.",
                remedy="Keep one of the two; separate the values of a list by colons.",
            )
    entry = declared(backend)
    if entry is not None:
        _check_declared(entry, backend, options, text)
    for key in keys:
        if any(longer_key.startswith(f"{key}.") for longer_key in keys):
            raise BadInput(
                f"Variant '{text}' gives {key} both a value and nested options.",
                remedy="Keep one of the two.",
            )


def _check_declared(entry: Backend, backend: str, options: Options, text: str) -> None:
    for key, value in options:
        option = entry.option(key)
        if entry.takes == "none":
            raise BadInput(
                f"Variant '{text}' gives {key} to {backend}, which takes no options.",
                remedy="Leave the option out.",
            )
        if option is None and entry.takes == "declared":
            raise BadInput(
                f"Variant '{text}' gives {backend} the option {key}, which it does not know.",
                remedy=f"Use one of: {', '.join(other.shown_key for other in entry.options)}.",
            )
        kind, description = _TYPES.get(option.kind if option is not None else "", (None, ""))
        parsed = _value(value)
        if option is not None and kind is not None and type(parsed) not in (kind, type(None)):
            raise BadInput(
                f"Variant '{text}' gives {backend}'s option {key} the value {value}, which is not "
                f"{description}.",
                remedy=f"Write it like {key}={option.example}.",
            )


def nested(backend: str, options: Options) -> dict[str, Any]:
    """Options as torch.compile(options=…) takes them, but for dtypes, which stay text."""
    entry = declared(backend)
    built: dict[str, Any] = {}
    for key, text in options:
        option = entry.option(key) if entry is not None else None
        is_list = option is not None and option.kind == "list"
        value: Any = [_value(part) for part in text.split(":")] if is_list else _value(text)
        is_flat = entry is not None and entry.dotted_keys
        path: Sequence[str] = (key,) if is_flat else key.split(".")
        table = built
        for part in path[:-1]:
            table = table.setdefault(part, {})
        table[path[-1]] = value
    return built


def _value(text: str) -> Any:
    stripped = text.strip()
    if stripped.lower() in _WORDS:
        return _WORDS[stripped.lower()]
    for read in (int, float):
        try:
            return read(stripped)
        except ValueError:
            continue
    return stripped
