"""Ties for items that no alignment in order matched: by line, by composition, by name, by place.

Each rule works on one gap; `RULES` is their order. Every rule has a fixture without which a test
fails (tests/analysis/ledger/test_rules.py, test_accuracy.py), and docs/ledger.md says what each one
is worth (`python -m tests.analysis.ledger.judge --ablation`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, pairwise
from math import prod

from profiler_core.analysis.ledger.gap import Gap
from profiler_core.analysis.ledger.match import doubt
from profiler_core.analysis.ledger.operators import KERNEL_FREE
from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.ledger.worth import worth, worth_of_names

# cuDNN's parts of a convolution by FFT or Winograd; the product among them is of complex numbers.
_OF_CONVOLUTION = re.compile(r"fft|flip_filter|gemm_cf32|winograd|cudnn|reduced_divisor", re.I)
# Items between two matches that may be one thing together: a loss is some ten operators, a block
# of a network far more.
_ARRANGING = frozenset(("cat", "clone", "cast"))  # operators that only arrange memory
MOST_AT_A_PLACE = 12
_HOST_READS = frozenset(("is_nonzero", "item", "_local_scalar_dense"))
_CONDITIONS = frozenset(("all", "any"))  # of all values: `bool(mask.all())`


def line_of_candidate(gap: Gap) -> None:
    """A candidate's item with the baseline's items of its source line."""
    weak = [x for x, y in gap.around if not (x.op == y.op and x.is_anchor)]
    for y in gap.untied(gap.candidate):
        here = [x for x in gap.baseline if x.units and x.labels & y.labels]
        beside = [x for x in weak if x.units and x.labels & y.labels]
        for x in _wholes(gap, y) or here or beside:
            gap.tie(x, y, "source line")


def _wholes(gap: Gap, part: Item) -> list[Item]:
    """The baseline's operators of its line that a node is a part of, by Inductor's comment.

    One that none of the gap and of the matches beside it is may stand behind these.
    """
    if not part.part_of:
        return []
    beside = [x for x in (*gap.baseline, *gap.beside_baseline) if x.op in part.part_of]
    near = [x for x in beside if x.units and x.labels & part.labels]
    further = (x for x in gap.beyond if x.units and x.op in part.part_of)
    return near or [x for x in islice(further, 1) if x.labels & part.labels]


def line_of_baseline(gap: Gap) -> None:
    """A baseline's item with the candidate's items of its source line, at worst a neighbour."""
    weak = [y for x, y in gap.around if not (x.op == y.op and y.is_anchor)]
    for x in gap.untied(gap.baseline):
        for side in (gap.candidate, weak, gap.beside_candidate):
            same = [y for y in side if y.units and y.labels & x.labels]
            if same:
                for y in same:
                    gap.tie(x, y, "source line")
                break


def part_of_candidates_composite(gap: Gap) -> None:
    """A baseline's operator beside a node that is several operators in eager mode."""
    beside = gap.beside_candidate
    for x in gap.untied(gap.baseline):
        for y in beside:
            is_part = x.op in y.inner or bool(x.inner & y.inner) or y is beside[0]
            if (
                y.units
                and y.is_composite
                and not y.by_kernel_name
                and is_part
                and not (x.is_anchor and x.op not in y.inner)
            ):
                gap.tie(x, y, "composite")
                break


def names_baseline(gap: Gap) -> None:
    """A kernel whose name has the baseline's operator in it."""
    for x in gap.untied(gap.baseline):
        kernels = [y for y in (*gap.candidate, *gap.beside_candidate) if y.by_kernel_name]
        best = max(kernels, key=lambda y: worth(x, y, gap.phase), default=None)
        if best is not None and _named(x, best):
            gap.tie(x, best, "kernel name")
            if not best.shapes:
                value = worth(x, best, gap.phase)
                doubt(
                    gap.match,
                    x,
                    best,
                    ([], [y for y in kernels if worth(x, y, gap.phase) == value]),
                )


def names_candidate(gap: Gap) -> None:
    """An operator that the name of the candidate's kernel has in it."""
    for y in gap.untied(gap.candidate):
        operators = [x for x in (*gap.baseline, *gap.beside_baseline) if x.units]
        best = max(operators, key=lambda x: worth(x, y, gap.phase), default=None)
        if y.by_kernel_name and best is not None and _named(best, y):
            gap.tie(best, y, "kernel name")
            if not y.shapes:
                value = worth(best, y, gap.phase)
                doubt(
                    gap.match,
                    best,
                    y,
                    ([x for x in operators if worth(x, y, gap.phase) == value], []),
                )


def _named(operator: Item, kernel: Item) -> bool:
    named = operator.op in kernel.inner or bool(operator.inner & kernel.inner)
    return named and worth_of_names(operator, kernel) > 0


def copy_for_what_follows(gap: Gap) -> None:
    """A cast or a layout copy works for the library's operator that follows it."""
    if gap.around and gap.around[-1][1].is_anchor and gap.around[-1][0].units:
        target = gap.around[-1][0]
        for y in gap.untied(gap.candidate):
            if y.only_copies and not _arranges_another(y, gap.around[-1]):
                gap.tie(target, y, "position")
    if gap.around and gap.around[-1][0].is_anchor and gap.around[-1][1].units:
        target = gap.around[-1][1]
        for x in gap.untied(gap.baseline):
            sizes = {prod(shape) for shape in gap.around[-1][0].shapes}
            arranges = x.op in _ARRANGING and (x.size is None or x.size in sizes)
            if arranges or (x.only_copies and not _arranges_another(x, gap.around[-1])):
                gap.tie(x, target, "position")


def _arranges_another(copy: Item, items: tuple[Item, ...]) -> bool:
    """Does a kernel that only copies write a tensor of a size that none of these is handed?"""
    sizes = {prod(shape) for item in items for shape in item.shapes}
    written = [prod(shape) for shape in copy.shapes[-1:]]
    return copy.only_copies and bool(sizes) and not sizes.issuperset(written)


def kernel_of_library(gap: Gap) -> None:
    """A library's operator may be several kernels; a replay without a log shows only these."""
    if any(x.units for x in gap.baseline):
        return
    for y in gap.untied(gap.candidate):
        if not y.library_kernel:
            continue
        beside = [p for p in gap.around if p[1].library_kernel and p[1].op == y.op]
        if _OF_CONVOLUTION.search(y.library_kernel):
            beside = beside or [p for p in gap.around if p[0].op.startswith("convolution")]
        beside.sort(key=lambda pair: pair[1].library_kernel != y.library_kernel)
        if beside:
            gap.tie(beside[0][0], y, "position")


def asked_by_host(gap: Gap) -> None:
    """A condition of Python on a tensor's value, where the graph hands the host none.

    Dynamo decides it while it traces, or leaves it out: `if mask.all():`. No kernel between the
    same two matches is it, whatever else stands there alone.
    """
    ops = {y.op for y in gap.candidate}
    if not any(y.node for y in gap.candidate) or ops & (_HOST_READS | _CONDITIONS):
        return
    for before, x in pairwise((None, *gap.baseline)):
        if x is None or x.op not in _HOST_READS:
            continue
        for part in (before, x) if before is not None and before.op in _CONDITIONS else (x,):
            if gap.untied((part,)):
                gap.leave_out(part)


def alone_in_place(gap: Gap) -> None:
    """What stands alone in the same place: without a match beside it there is no place."""
    left = gap.untied(gap.baseline)
    right = [y for y in gap.untied(gap.candidate) if y.op not in KERNEL_FREE]
    if gap.phase == "backward":  # lines that differ speak against it
        left = [x for x in left if not x.labels or not any(y.labels for y in right)]
        right = [y for y in right if not y.labels or not any(x.labels for x in left)]
    if gap.around and max(len(left), len(right)) <= MOST_AT_A_PLACE:
        for x in left:
            for y in right:
                gap.tie(x, y, "position")


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to tie what an alignment leaves over."""

    name: str
    reason: str  # why what it ties is the same work
    apply: Callable[[Gap], None]


RULES = (
    Rule("line_of_candidate", "a source line is the same program on both sides", line_of_candidate),
    Rule("line_of_baseline", "likewise, and a fused kernel may stand beside", line_of_baseline),
    Rule(
        "part_of_candidates_composite",
        "one node may be several operators in eager mode",
        part_of_candidates_composite,
    ),
    Rule("names_baseline", "Inductor names a kernel by what it computes", names_baseline),
    Rule(
        "copy_for_what_follows",
        "a kernel that names nothing new only arranges memory for the library's next operator",
        copy_for_what_follows,
    ),
    Rule("names_candidate", "likewise, for kernels beyond the first", names_candidate),
    Rule("kernel_of_library", "a library's operator may be several kernels", kernel_of_library),
    Rule("asked_by_host", "a graph that hands the host no value decides nothing", asked_by_host),
    Rule("alone_in_place", "nothing else stands between the same two matches", alone_in_place),
)


def fill(gap: Gap) -> None:
    """Tie what is left between two matches, rule by rule."""
    for rule in RULES:
        rule.apply(gap)
