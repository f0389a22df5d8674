"""Whether a generated kernel reads a buffer in the order in which another one writes it.

Both orders are read off the index expressions of the code: what stands behind the pointer of a
store or a load, over loops of which the last is the innermost.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from math import prod

from profiler_core.analysis.unfused.numels import numels
from profiler_core.digits import is_natural

_DEFINED = re.compile(r"^\s+(?P<name>[xyzr]\w*) = (?P<value>[^\n#]{1,2000})$", re.MULTILINE)
_LONGEST = 2000  # letters of an expression that is read
_LARGEST = 1 << 63  # a file may say anything
_N_POINTS = 64
_MOST_BORDERS = 1000  # each is followed, and a file may hold any number of numbers
_TOKEN = re.compile(r"\s*(\d+|\w+|//|\S)")
_SUMS = {"+": operator.add, "-": operator.sub}
_PRODUCTS = {"*": operator.mul, "//": operator.floordiv, "%": operator.mod}
_Address = Callable[[int], int]


class _Unreadable(Exception):
    """An expression that depends on data, or on what is not known here."""


def reads_in_order(writer: str, stored: str, reader: str, loaded: str) -> bool | None:
    """Do both walk through the buffer alike, the same step after the same number of steps?

    Both are followed through steps around each border of their loops, and some between.

    Args:
        writer: source of the Triton kernel that writes it.
        stored: name of its pointer there, "out_ptr0".
        reader: source of the one that reads it.
        loaded: name of its pointer there.

    Returns:
        None where an index is no whole-number arithmetic on the loops alone, where one of them has
        several or none, or where they have other numbers of steps.
    """
    n_steps = prod(numels(writer).values())
    if n_steps != prod(numels(reader).values()):
        return None
    write, read = _address(writer, "store", stored), _address(reader, "load", loaded)
    if write is None or read is None:
        return None
    try:
        first = write(0) - read(0)
        return all(write(step) - read(step) == first for step in _steps(n_steps, writer, reader))
    except (_Unreadable, ZeroDivisionError, RecursionError):
        return None


def _steps(n: int, *sources: str) -> Iterator[int]:
    """Some at the beginning, some of all, and those around the borders of the loops."""
    yield from range(min(n, _N_POINTS))
    yield from (n * part // _N_POINTS for part in range(_N_POINTS))
    borders = {int(text) for source in sources for text in re.findall(r"\b\d{1,12}\b", source)}
    if len(borders) > _MOST_BORDERS:
        raise _Unreadable
    for border in borders:
        for step in (border - 1, border, border + 1, 2 * border, 3 * border):
            if 0 <= step < n:
                yield step
    yield n - 1


def _address(source: str, kind: str, pointer: str) -> _Address | None:
    """Step of the loops -> index behind the pointer; None where it has several, or none."""
    indices = set(_indices(source, kind, pointer))
    if len(indices) != 1:
        return None
    (index,) = indices
    defined = {match["name"]: match["value"] for match in _DEFINED.finditer(source)}
    loops = list(numels(source).items())

    def address(step: int) -> int:
        names = {}
        for axis, n in reversed(loops):
            step, names[_index_name(axis)] = divmod(step, n)
        return _Expression(index, names, defined).value()

    return address


def _index_name(axis: str) -> str:
    """`x` -> `xindex`, `r0_` -> `r0_index`, in torch before 2.6 `r` -> `rindex`."""
    return f"{axis}index"


def _indices(source: str, kind: str, pointer: str) -> Iterator[str]:
    """What stands in the parentheses behind `tl.load(in_ptr0 + `."""
    for match in re.finditer(rf"tl\.{kind}\({pointer} \+ \(", source):
        depth, begin = 1, match.end()
        for position in range(begin, min(len(source), begin + _LONGEST)):
            depth += {"(": 1, ")": -1}.get(source[position], 0)
            if not depth:
                yield source[begin:position]
                break
        else:
            yield ""


class _Expression:
    """Whole-number arithmetic, worked out from left to right; `names` gain what it is made of."""

    def __init__(self, text: str, names: dict[str, int], defined: Mapping[str, str]) -> None:
        self._tokens = _TOKEN.findall(text)[::-1]
        self._names = names
        self._defined = defined

    def value(self) -> int:
        """Of all of it. Raises `_Unreadable`."""
        value = self._sum()
        if self._tokens:
            raise _Unreadable
        return value

    def _sum(self) -> int:
        value = self._product()
        while self._tokens and self._tokens[-1] in _SUMS:
            value = _bounded(_SUMS[self._tokens.pop()](value, self._product()))
        return value

    def _product(self) -> int:
        value = self._factor()
        while self._tokens and self._tokens[-1] in _PRODUCTS:
            value = _bounded(_PRODUCTS[self._tokens.pop()](value, self._factor()))
        return value

    def _factor(self) -> int:
        word = self._tokens.pop() if self._tokens else ""
        if word == "-":
            return -self._factor()
        if word == "(":
            value = self._sum()
            if not self._tokens or self._tokens.pop() != ")":
                raise _Unreadable
            return value
        is_name = word in self._names or word in self._defined
        return self._named(word) if is_name else _whole(word)

    def _named(self, name: str) -> int:
        if name not in self._names:
            rest = {other: text for other, text in self._defined.items() if other != name}
            self._names[name] = _Expression(self._defined[name], self._names, rest).value()
        return self._names[name]


def _whole(word: str) -> int:
    if not is_natural(word):
        raise _Unreadable
    return _bounded(int(word))


def _bounded(value: int) -> int:
    if abs(value) > _LARGEST:
        raise _Unreadable
    return value
