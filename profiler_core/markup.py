"""HTML of templates, which escape whatever is put into them: the only place that makes markup.

The templates lie in `profiler_core/templates`: `report` for the document, `page` for pieces of the
pages, and what both share.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

__all__ = ["Markup", "escape", "phrase", "render", "short"]


def render(template: str, **values: Any) -> Markup:
    """One template as markup.

    Args:
        template: its path below `templates`.
        values: by the names that the template has for them; strings are escaped, `Markup` is not.
    """
    return Markup(_environment().get_template(template).render(**values))  # noqa: S704


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
    environment.filters |= {"phrase": phrase, "short": short}
    return environment


def phrase(parts: Iterable[Any]) -> Markup:
    """A `wording.sentence.Phrase`: what is strong in it stands out."""
    return Markup("").join(
        part if isinstance(part, str) else Markup("<em>{}</em>").format(part.text) for part in parts
    )


def short(text: str, longest: int = 110) -> str:
    """Long names cut in the middle: both ends tell them apart."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"
