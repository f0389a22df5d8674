"""Bounded answers: a page of a list, and never more than MOST_CHARACTERS.

An answer that was cut says so, and which offset continues it.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, UnsetType

from profiler_core.answers.encoding import plain
from profiler_core.answers.record import Answer, means

# How tokens are counted here: no tokenizer of an agent's model is at hand.
CHARACTERS_PER_TOKEN = 4
# About 4 000 tokens: an agent asks several times per task, and each answer fills its context.
MOST_CHARACTERS = 4_000 * CHARACTERS_PER_TOKEN
_LONGEST_TEXT = 1_200  # of one value; generated code is paged apart
_SHORTEST_TEXT = 200
MOST_ROWS = 50
FEW_ROWS = 8  # where an agent names no limit
_FURTHEST_ROW = 2**31 - 1  # which every database takes, and no list reaches


class Page(Answer, frozen=True, kw_only=True):
    """Some rows of a list."""

    n: Annotated[int, means("rows on all pages")]
    offset: Annotated[int, means("of the first row here")]
    rows: tuple[Any, ...]
    next_offset: Annotated[
        int | UnsetType, means("where the next rows begin; absent on the last page")
    ] = UNSET


_A = TypeVar("_A", bound=Answer)


def page(kind: type[_A], rows: Sequence[Any], offset: int, limit: int, *sources: object) -> _A:
    """A record with the fields of a Page; its other fields are attributes of the sources."""
    first, size = bounds(offset, limit)
    return page_of(kind, rows[first : first + size], len(rows), first, *sources)


def bounds(offset: int, limit: int) -> tuple[int, int]:
    """The first row of a page and how many it has, whatever was asked for."""
    return min(max(0, offset), _FURTHEST_ROW), min(max(1, limit), MOST_ROWS)


def page_of(kind: type[_A], shown: Sequence[Any], n_all: int, first: int, *sources: object) -> _A:
    """As `page`, of rows that were cut out before: those from `first` on, of `n_all`."""
    following = first + len(shown)
    return kind.of(
        *sources,
        n=n_all,
        offset=first,
        rows=tuple(shown),
        next_offset=following if following < n_all else UNSET,
    )


def written(answer: Answer) -> str:
    """The answer as compact JSON of at most MOST_CHARACTERS.

    Rows of a page are taken from its end, and `next_offset` then says where they begin; other
    lists are cut and `left_off` counts what is missing.
    """
    value = _cut_texts(plain(answer), _LONGEST_TEXT)
    text = _dump(value)
    while len(text) > MOST_CHARACTERS:
        if not _cut_longest_list(value):
            value = _cut_texts(value, _SHORTEST_TEXT)
            return _dump(value)[:MOST_CHARACTERS]
        text = _dump(value)
    return text


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cut_texts(value: Any, longest: int) -> Any:
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]}… ({len(value) - longest} more characters)"
    if isinstance(value, dict):
        # "code" has its own pages, by code_offset.
        return {k: v if k == "code" else _cut_texts(v, longest) for k, v in value.items()}
    if isinstance(value, list):
        return [_cut_texts(item, longest) for item in value]
    return value


def _cut_longest_list(value: dict[str, Any]) -> bool:
    """Halve the list that takes the most room; False where none has two entries."""
    lists = [(holder, key) for holder, key in _lists(value) if len(holder[key]) > 1]
    if not lists:
        return False
    holder, key = max(lists, key=lambda entry: len(_dump(entry[0][entry[1]])))
    rows = holder[key]
    n_kept = max(1, len(rows) // 2)
    holder[key] = rows[:n_kept]
    if key == "rows" and "offset" in holder:
        holder["next_offset"] = holder["offset"] + n_kept
    else:
        left_off = holder.setdefault("left_off", {})
        left_off[key] = left_off.get(key, 0) + len(rows) - n_kept
    return True


def _lists(value: Any) -> list[tuple[dict[str, Any], str]]:
    """Every list that is a value of an object, with the object and its key."""
    lists: list[tuple[dict[str, Any], str]] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, list):
                lists.append((value, key))
            lists.extend(_lists(inner))
    elif isinstance(value, list):
        for inner in value:
            lists.extend(_lists(inner))
    return lists
