"""Corrects ties of single layers that differ from those of most layers of the same stretch.

Kernels known by name alone are placed gap by gap, and a gap with one kernel more, such as a mask
that one layer arranges anew, is filled otherwise than that of the next layer. Inductor writes a
kernel that layers share once: where an operator of most layers is in the kernel of one name, and a
layer has that kernel at this place too, the operator is in it.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from profiler_core.analysis.ledger.match import Evidence, Match, Tie
from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.ledger.stretches import Stretch, signature, stretches

_BY_NAME: Evidence = "kernel name"
Units = tuple[int, ...]


def realign(a: Sequence[Item], b: Sequence[Item], match: Match) -> None:
    """Move the ties of a segment's unusual layers to the kernels of the usual names.

    Args:
        a: the baseline's items.
        b: the candidate's, some of them known by a kernel's name only.
        match: its ties; those by name may change.
    """
    operators = [item for item in a if item.units]
    kernels = [item for item in b if item.units]
    if not any(item.by_kernel_name for item in kernels):
        return
    layers = stretches([signature(item) for item in operators])
    if not layers:
        return
    sides = _Sides.of(operators, kernels, match)
    for stretch in layers:
        for number, names in _unusual(operators, stretch, sides):
            here = sides.kernels_around(number)
            fitting = [[k for k in here if kernels[k].op == name] for name in names]
            if all(len(same) == 1 for same in fitting):
                sides.move(operators[number], [kernels[same[0]] for same in fitting], match)
    sides.place_the_rest(match)


@dataclass(slots=True)
class _Sides:
    """The items of both sides by what ties them."""

    kernels: Sequence[Item]
    by_name: Mapping[Units, list[Item]]  # operator -> kernels that it is tied to by their names
    frame: Sequence[tuple[int, int, Item]]  # numbers of operators and kernels that libraries tie
    left: dict[Units, Item]  # kernels that an operator was moved from

    @classmethod
    def of(cls, operators: Sequence[Item], kernels: Sequence[Item], match: Match) -> "_Sides":
        """Look up the ties of a segment."""
        numbers = {item.units: number for number, item in enumerate(operators)}
        places = {item.units: position for position, item in enumerate(kernels)}
        by_name: dict[Units, list[Item]] = {}
        pairs: list[tuple[int, int, Item]] = []
        for tie in match.ties:
            number, position = numbers.get(tie.baseline), places.get(tie.candidate)
            if number is None or position is None:
                continue
            if tie.evidence == _BY_NAME and kernels[position].by_kernel_name:
                by_name.setdefault(tie.baseline, []).append(kernels[position])
            elif operators[number].is_anchor:
                pairs.append((number, position, operators[number]))
        frame: list[tuple[int, int, Item]] = []
        for pair in sorted(pairs, key=lambda pair: pair[:2]):
            if not frame or pair[1] > frame[-1][1]:
                frame.append(pair)
        return cls(kernels, by_name, frame, {})

    def kernels_around(self, number: int) -> range:
        """Places of the kernels between the libraries' operators on either side of an operator."""
        after = bisect_left(self.frame, number, key=lambda pair: pair[0])
        first = self.frame[after - 1][1] + 1 if after else 0
        last = self.frame[after][1] if after < len(self.frame) else len(self.kernels)
        return range(first, last)

    def move(self, operator: Item, kernels: Sequence[Item], match: Match) -> None:
        """Tie an operator to these kernels in place of those that it was tied to."""
        before = {kernel.units for kernel in self.by_name[operator.units]}
        self.left.update((kernel.units, kernel) for kernel in self.by_name[operator.units])
        match.ties = [
            tie
            for tie in match.ties
            if tie.baseline != operator.units
            or tie.candidate not in before
            or tie.evidence != _BY_NAME
        ]
        match.ties += [Tie(operator.units, kernel.units, _BY_NAME) for kernel in kernels]

    def place_the_rest(self, match: Match) -> None:
        """A kernel that no operator is left in works for the library's operator behind it."""
        tied = {tie.candidate for tie in match.ties}
        places = {item.units: position for position, item in enumerate(self.kernels)}
        for units in self.left.keys() - tied:
            behind = [operator for _, position, operator in self.frame if position > places[units]]
            for operator in behind[:1] or [operator for _, _, operator in self.frame[-1:]]:
                match.ties.append(Tie(operator.units, units, "position"))


def _unusual(
    operators: Sequence[Item], stretch: Stretch, sides: _Sides
) -> Iterator[tuple[int, frozenset[str]]]:
    """Numbers of operators that are in other kernels than at the same place of most layers."""
    for position in range(stretch.length):
        numbers = range(stretch.start + position, stretch.items().stop, stretch.length)
        names = {
            number: frozenset(kernel.op for kernel in sides.by_name[operators[number].units])
            for number in numbers
            if operators[number].units in sides.by_name
        }
        usual, n = Counter(names.values()).most_common(1)[0] if names else (frozenset(), 0)
        if 2 * n > stretch.copies:
            yield from ((number, usual) for number in names if names[number] != usual)
