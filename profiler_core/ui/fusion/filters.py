"""Which groups the fusion page shows, and in which order; every choice lies in the URL."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import streamlit as st

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.ledger.folding import FoldedGroup, fold, in_program_order
from profiler_core.analysis.ledger.group_modules import is_in_module
from profiler_core.analysis.ledger.ledger import FusionLedger
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.ui.address import in_address

FOLDED, PROGRAM = "same operators together", "in program order"
ALL, SAVED, LOST, ALONE = "all", "time saved", "time lost", "without counterpart"
_ANY_KIND, _ANY_MODULE = "any kind", "any module"
_MOST_MODULES = 400
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)|^\d+(?=\.|$)")


@dataclass(frozen=True)
class Filters:
    """What to show."""

    order: str = FOLDED
    change: str = ALL
    kinds: frozenset[str] = frozenset()  # categories, one of which a kernel must have; empty: any
    module: str = ""  # a module, everything below it included; * is any number; "": any
    words: str = ""  # all of which must be in names, source lines or the module

    @property
    def are_set(self) -> bool:
        """Is anything left out by them?"""
        return self.change != ALL or bool(self.kinds or self.module or self.words.split())


def choose_order() -> str:
    """Draw the control of the order."""
    picked = st.segmented_control(
        "Order", [FOLDED, PROGRAM], default=FOLDED, required=True,
        label_visibility="collapsed", **in_address("order", FOLDED),
    )  # fmt: skip
    return picked or FOLDED


def choose_filters(ledgers: Sequence[FusionLedger], order: str) -> Filters:
    """Draw the controls; what the ledgers have nothing for is not offered."""
    groups = [group for ledger in ledgers for group in ledger.groups]
    modules = module_choices(groups)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        words = st.text_input(
            "Search", width=220, max_chars=200, placeholder="operator, kernel, source line",
            **in_address("find"),
        )  # fmt: skip
        change = st.selectbox(
            "Change", [ALL, SAVED, LOST, ALONE], width=170, **in_address("change", ALL)
        )
        labels = _kind_labels(groups)
        kind = st.selectbox(
            "Kind of kernel", [_ANY_KIND, *labels], width=180,
            **in_address("kernels", _ANY_KIND),
        )  # fmt: skip
        module = _ANY_MODULE
        if modules:
            module = st.selectbox(
                "Module", [_ANY_MODULE, *modules], width=220,
                **in_address("module", _ANY_MODULE),
            )  # fmt: skip
    if not modules:
        st.html(
            "<p class=fs-note>There is no filter by module: no group knows its module (the last "
            "lines of this page say why).</p>"
        )
    return Filters(
        order=order,
        change=change,
        kinds=frozenset(key for key, label in CATEGORIES.items() if label == kind),
        module="" if module == _ANY_MODULE else module,
        words=words,
    )


def filtered(ledger: FusionLedger, filters: Filters) -> tuple[FoldedGroup, ...]:
    """The groups that the filters leave, as the order wants them; times are per step."""
    needles = filters.words.lower().split()
    numbers = [
        number
        for number, group in enumerate(ledger.groups)
        if (not filters.module or is_in_module(group.module, filters.module))
        and (not filters.kinds or _has_kind(group, filters.kinds))
        and (not needles or _has_words(group, needles))
    ]
    shown = fold(ledger.groups, numbers)
    if filters.order == PROGRAM:
        left_numbers = set(numbers)
        every = in_program_order(ledger.groups)
        shown = tuple(group_fold for group_fold in every if group_fold.numbers[0] in left_numbers)
    elif filters.change == LOST:
        shown = shown[::-1]  # the largest loss first
    return tuple(group_fold for group_fold in shown if _changed(group_fold, filters.change))


def module_choices(groups: Iterable[FusionGroup]) -> list[str]:
    """Modules to choose from: each path with those above it; numbered siblings also as one `*`."""
    module_paths: dict[str, None] = {}
    members: dict[str, set[str]] = {}
    for module in dict.fromkeys(group.module for group in groups if group.module):
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            path = ".".join(parts[:end])
            module_paths[path] = None
            starred = _NUMBER.sub("*", path)
            if starred != path:
                members.setdefault(starred, set()).add(path)
    stars = {starred for starred, paths in members.items() if len(paths) > 1}
    return sorted({*module_paths, *stars}, key=_natural)[:_MOST_MODULES]


def _natural(path: str) -> list[tuple[bool, int, str]]:
    """Layer 2 before layer 10, all layers (*) before the first."""
    return [
        (not part.isdigit() and part != "*", -1 if part == "*" else int(part), "")
        if part == "*" or (part.isascii() and part.isdigit() and len(part) < 10)
        else (True, 0, part)
        for part in path.split(".")
    ]


def _kind_labels(groups: Iterable[FusionGroup]) -> list[str]:
    present = {
        kernel.category
        for group in groups
        for side in (group.baseline, group.candidate)
        for kernel in side.kernels
    }
    return list(dict.fromkeys(label for key, label in CATEGORIES.items() if key in present))


def _has_kind(group: FusionGroup, kinds: frozenset[str]) -> bool:
    return any(
        kernel.category in kinds
        for side in (group.baseline, group.candidate)
        for kernel in side.kernels
    )


def _has_words(group: FusionGroup, needles: Sequence[str]) -> bool:
    names = [group.title, group.module or "", group.phase]
    for side in (group.baseline, group.candidate):
        names += [named.op for named in side.operators]
        names += [named.name for named in side.kernels]
    names += [part for source in group.sources for part in source]
    text = " ".join(names).lower()
    return all(word in text for word in needles)


def _changed(group: FoldedGroup, change: str) -> bool:
    if change == SAVED:
        return group.kind in ("matched", "removed") and group.delta_ns < 0
    if change == LOST:
        return group.delta_ns > 0
    if change == ALONE:
        return group.kind in ("unmatched", "only in the candidate")
    return True
