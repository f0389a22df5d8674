"""The small pieces of a report's HTML. Text goes in as it is and comes out escaped."""

from collections.abc import Iterable, Sequence
from html import escape


def paragraph(text: str, kind: str = "") -> str:
    """One paragraph."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def chapter(key: str, title: str, note: str, *parts: str, flow: bool = False) -> str:
    """A section with its heading; on paper it begins a page unless it `flow`s on."""
    below = paragraph(note, "muted") if note else ""
    kind = ' class="flow"' if flow else ""
    head = f"<h2>{escape(title)}</h2>{below}"
    return f'<section id="{escape(key)}"{kind}>{head}{"".join(parts)}</section>'


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, text: bool = False, numbers: int = 0
) -> str:
    """A table whose cells are HTML: whoever makes them escapes.

    Args:
        heads: as plain text.
        rows: cells; the first one of each row names it.
        text: columns are words, aligned to the left.
        numbers: with `text`, how many columns at the end are numbers.
    """
    first = len(heads) - numbers
    head = "".join(
        f'<th class="n">{escape(h)}</th>' if text and i >= first else f"<th>{escape(h)}</th>"
        for i, h in enumerate(heads)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<th scope=row>{cell}</th>"
            if i == 0
            else f'<td class="n">{cell}</td>'
            if not text or i >= first
            else f"<td>{cell}</td>"
            for i, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    kind = ' class="text"' if text else ""
    return (
        f"<div class=scroll><table{kind}><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """(label, colour) of each kind in a figure."""
    keys = "".join(
        f'<span class=key><span class=swatch style="background:{color}"></span>{escape(label)}'
        "</span>"
        for label, color in entries
    )
    return f"<p class=legend>{keys}</p>"


def bullets(sentences: Iterable[str]) -> str:
    """Each sentence once, in the order of their first appearance."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in dict.fromkeys(sentences))
    return f"<ul>{items}</ul>" if items else ""


def mono(text: str) -> str:
    """A name of code."""
    return f"<span class=mono>{escape(text)}</span>"


def short(text: str, longest: int = 110) -> str:
    """Long names cut in the middle: both ends tell them apart."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"
