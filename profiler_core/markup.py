"""HTML of templates, which escape whatever is put into them: the only place that makes markup.

The templates lie in `profiler_core/templates`: `report` for the document, `page` for pieces of the
pages, and what both share.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from profiler_core.dates import minute
from profiler_core.units import format_count, format_difference, format_duration

__all__ = ["Markup", "breakable", "coded", "escape", "load_templates", "phrase", "render"]


# At a hyphen or a space a browser breaks by itself.
_BROKEN_UP_TO = 2000  # characters: time for dots without end grows with their square
_LONGEST_WORD = 24  # characters: longer ones are names, which need not fit into a column
_CODE = re.compile(r"`([^`]+)`")
_WITHIN_QUANTITY = re.compile(
    r"(?<=\d) (?=(?:[nµm]?s|[kMGT]?B(?:/s)?|%|pts|[mk]?J|[MGTP]?FLOPS?)(?![\w/]))"
    r"|(?<=[≤≥]) (?=\d)"
)
_SEPARATOR = re.compile(r"(?<=[\w.])([_./=+,(]+)(?=\w)")
_LONGEST_CUT = 16  # characters on both sides of the cut of a shortened name that keep together


def render(template: str, **values: Any) -> Markup:
    """One template as markup.

    Args:
        template: its path below `templates`.
        values: by the names that the template has for them; strings are escaped, `Markup` is not.
    """
    return Markup(_environment().get_template(template).render(**values))  # noqa: S704


def load_templates(folder: str) -> None:
    """Read and compile all templates below a folder before the first of them is needed."""
    environment = _environment()
    for name in environment.list_templates():
        if name.startswith(folder):
            environment.get_template(name)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("profiler_core", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "breakable": breakable,
        "coded": coded,
        "coded_prose": coded_prose,
        "phrase": phrase,
        "prose": prose,
        "with_units": with_units,
        "difference": format_difference,
        "duration": format_duration,
        "count_text": format_count,
        "minute": minute,
    }
    return environment


def breakable(name: str) -> Markup:
    """A name that breaks between its words, not in the middle of one, in a narrow column.

    Nor at the "…" of a name that was cut, where a browser would.
    """
    head, rest = name[:_BROKEN_UP_TO], name[_BROKEN_UP_TO:]
    ends = [0, *(match.end() for match in _SEPARATOR.finditer(head)), len(head)]
    parts = [head[start:end] for start, end in pairwise(ends)]
    return Markup("<wbr>").join(_kept_together(part) for part in parts) + rest


def _kept_together(part: str) -> str:
    if "…" not in part.strip("…") or len(part) > _LONGEST_CUT:
        return part
    return Markup("<span class=fs-whole>{}</span>").format(part)


def coded(text: str) -> Markup:
    """A sentence, of ours or of PyTorch's, in which backticks mark code."""
    return _with_code(text, escape)


def coded_prose(text: str) -> Markup:
    """The same where lines are short: none ends inside a quantity or at the cut of a name."""
    return _with_code(text, prose)


def _with_code(text: str, words: Callable[[str], Markup]) -> Markup:
    parts = _CODE.split(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else words(part)
        for number, part in enumerate(parts)
    )


def prose(text: str) -> Markup:
    """A sentence: no line ends inside a quantity, or in the middle of a part of a name."""
    words = re.split(r"( )", with_units(text))
    return Markup("").join(
        breakable(word) if len(word) > _LONGEST_WORD or "…" in word else word for word in words
    )


def phrase(parts: Iterable[Any]) -> Markup:
    """A `wording.sentence.Phrase`: what is strong in it stands out."""
    return Markup("").join(
        part if isinstance(part, str) else Markup("<em>{}</em>").format(part.text) for part in parts
    )


def with_units(text: str) -> str:
    """Text, or markup, of which no line ends between a number and its unit, or "≤" and it."""
    joined = _WITHIN_QUANTITY.sub("\u00a0", text)
    return Markup(joined) if isinstance(text, Markup) else joined  # noqa: S704
