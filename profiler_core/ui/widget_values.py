"""What a browser says of a widget is anybody's word: only what the widget offers counts.

Streamlit holds a choice against its options where a page draws it, and not before: a callback,
which runs first, reads whatever text came. It takes any kind of value, and a text of any length.
Here all of these are as if nothing had been sent, for every widget of every page.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any

from streamlit.runtime.state import widgets
from streamlit.runtime.state.common import RegisterWidgetResult, WidgetMetadata

_LONGEST_TEXT = 100_000  # characters; the longest of a page has 20 000
_MOST_VALUES = 10_000  # of one choice
_KINDS: dict[str, type | tuple[type, ...]] = {
    "string_value": str,
    "string_trigger_value": str,
    "bool_value": bool,
    "trigger_value": bool,
    "int_value": int,
    "double_value": (int, float),
}

_Register = Callable[[WidgetMetadata[Any], Any], RegisterWidgetResult[Any]]


def check_widget_values() -> None:
    """Let all widgets that are drawn from now on take values of theirs alone; once is enough."""
    register = widgets.register_widget_from_metadata
    if not isinstance(register, partial):
        widgets.register_widget_from_metadata = partial(_registered, register)


def _registered(
    register: _Register, metadata: WidgetMetadata[Any], context: Any
) -> RegisterWidgetResult[Any]:
    offered = None if metadata.formatted_options is None else frozenset(metadata.formatted_options)
    kind, deserialize = metadata.value_type, metadata.deserializer
    checked = replace(
        metadata, deserializer=lambda value: deserialize(allowed(kind, offered, value))
    )
    return register(checked, context)


def allowed(kind: str, offered: frozenset[str] | None, value: Any) -> Any:
    """The value that a browser sent, as far as the widget may have it; None: nothing was sent.

    Args:
        kind: of the widget's values, as Streamlit's protocol names it.
        offered: the texts that can be chosen; None: any.
        value: what came.
    """
    if kind == "string_array_value":
        is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        if not is_list or len(value) > _MOST_VALUES:
            return None
        texts = [text for text in value if _is_text(text)]
        return texts if offered is None else [text for text in texts if text in offered]
    expected = _KINDS.get(kind)
    if expected is None:
        return value
    if not isinstance(value, expected) or (expected is not bool and isinstance(value, bool)):
        return None
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, str) and not _is_text(value):
        return None
    return value if offered is None or value in offered else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT
