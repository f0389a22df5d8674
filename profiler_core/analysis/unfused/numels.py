"""Number of elements that a generated kernel loops over, read from its source."""

import re
from dataclasses import dataclass
from math import prod

# `xnumel = 65536`, `r0_numel = 768`, in torch before 2.6 `rnumel = 768`. A symbolic size is none.
_NUMEL = re.compile(r"^\s+(?P<axis>[xyz]|r\d?_?)numel = (?P<n>\d{1,18})\s*$", re.MULTILINE)
_ATOMIC = "tl.atomic_add("
_MUTATED = re.compile(r"'mutated_arg_names': \[(?P<names>[^\]]*)\]")
_KIND = re.compile(r"@triton_heuristics\.(?P<kind>\w+)\(")


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers of elements: of results and, for a reduction, of what goes into each."""

    results: int
    reduced: int | None  # None: no reduction

    @property
    def total(self) -> int:
        """Elements looked at."""
        return self.results * (self.reduced or 1)

    @property
    def text(self) -> str:
        """`4 194 304 elements`, `8 192 rows of 768`."""
        if self.reduced is None:
            return f"{self.results:,} elements".replace(",", " ")
        return f"{self.results:,} results of {self.reduced:,} elements each".replace(",", " ")


def numels(source: str) -> dict[str, int]:
    """Elements of each loop whose number is known, the outermost first: `x`, then `r0_`."""
    by_axis = {match["axis"]: int(match["n"]) for match in _NUMEL.finditer(source)}
    return dict(sorted(by_axis.items(), key=lambda item: ("zyxr".index(item[0][0]), item[0])))


def range_of(source: str) -> Range | None:
    """The range of a Triton kernel; None where it is symbolic, or the kernel is no such one."""
    by_axis = numels(source)
    if "x" not in by_axis:
        return None
    reduced = [n for axis, n in by_axis.items() if axis.startswith("r")]
    kind = kind_of(source)
    if "reduction" in kind and not reduced:
        return None
    results = prod(n for axis, n in by_axis.items() if not axis.startswith("r"))
    return Range(results, prod(reduced) if reduced else None)


def kind_of(source: str) -> str:
    """`pointwise`, `reduction`, `persistent_reduction`, `template`; "" for no Triton kernel."""
    match = _KIND.search(source)
    return match["kind"] if match else ""


def adds_atomically(source: str) -> bool:
    """Is its result complete only when the whole kernel has run?"""
    return _ATOMIC in source


def mutates(source: str) -> bool:
    """Does it write into something that was there before, beside memory that it takes over?"""
    match = _MUTATED.search(source)
    names = re.findall(r"'(\w+)'", match["names"]) if match else []
    return any(not name.startswith("in_out_ptr") for name in names)
