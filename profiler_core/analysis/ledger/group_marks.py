"""What tells groups apart whose titles read alike: five times "12 × linear" in one picture.

The end of their module's path, as far as it takes to differ, else their line of code.
"""

from collections import Counter
from collections.abc import Sequence

from profiler_core.analysis.ledger.folding import FoldedGroup


def group_marks(groups: Sequence[FoldedGroup]) -> tuple[str, ...]:
    """In the order of the groups: "query", "attention.output.dense", "model.py:12".

    "" for a group whose title no other has, and where neither module nor line tells it apart.
    """
    of_title: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        of_title.setdefault(group.title, []).append(number)
    marks = [""] * len(groups)
    for numbers in of_title.values():
        if len(numbers) > 1:
            for number, mark in zip(
                numbers, _marks([groups[number] for number in numbers]), strict=True
            ):
                marks[number] = mark
    return tuple(marks)


def _marks(alike: Sequence[FoldedGroup]) -> list[str]:
    paths = [_path(group) for group in alike]
    depth = max(map(len, paths))
    ways: list[list[str]] = [[_end(path, n) for path in paths] for n in range(1, depth + 1)]
    ways.append([group.first.sources[0][0] if group.first.sources else "" for group in alike])
    counts = [Counter(way) for way in ways]
    return [
        next(
            (
                way[number]
                for way, count in zip(ways, counts, strict=True)
                if way[number] and count[way[number]] == 1
            ),
            "",
        )
        for number in range(len(alike))
    ]


def _path(group: FoldedGroup) -> tuple[str, ...]:
    """The module's path; of several groups without the numbers of their layers."""
    parts = (group.first.module or "").split(".")
    is_one = len(group.groups) == 1
    return tuple(part for part in parts if part and (is_one or not part.isdigit()))


def _end(path: Sequence[str], n: int) -> str:
    """The last `n` parts, and one more where they begin with the number of a layer."""
    if n < len(path) and path[-n].isdigit():
        n += 1
    return ".".join(path[-n:])
