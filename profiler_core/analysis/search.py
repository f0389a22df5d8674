"""Search over all that has a dossier: findings, modules, operators, kernels, groups, lines, breaks.

Every word must occur, but for those that only hold a question together: "layer norm of layer 3".
"Layer 7" is what lies in the seventh of a row of modules ("h.7", "encoder.layer.7"), whatever else
has a 7 in it: without modules there is none. Exact names come first, then what begins with the
query, then names with each word as a whole part ("h.3" in "transformer.h.3.ln_1", and not in
"h.31"), then parts that begin with them, then the rest; of equal rank the kind that says most, then
the most time.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.item import Item
from profiler_core.analysis.ledger.merged_calls import fall_together
from profiler_core.analysis.ledger.result import Became
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.analysis.wording.sentence import clause, listed

EntryKind = Literal[
    "finding", "module", "operator", "kernel", "copy", "group", "source line", "graph break",
    "skipped frame",
]  # fmt: skip

_KINDS: tuple[EntryKind, ...] = (
    "finding", "module", "operator", "kernel", "copy", "group", "source line", "graph break",
    "skipped frame",
)  # fmt: skip
_FILLERS = frozenset((
    "a", "an", "and", "are", "at", "became", "become", "better", "by", "can", "did", "do", "does",
    "for", "gain", "get", "got", "how", "i", "is", "it", "its", "me", "my", "of", "should", "the",
    "through", "to", "was", "what", "which", "why", "with", "worse",
))  # fmt: skip
_CHANGES: tuple[Became, ...] = ("slower", "faster")  # asked for, the largest change comes first
_IN_A_ROW = frozenset(("layer", "layers", "block", "blocks"))  # the number behind it is an index
_NO_MATCH = "Nothing in these runs matches."
_NO_MODULES = (
    "No file names modules, so layers cannot be searched: record the trace with with_stack=True, "
    "or the compiled run with its structured logs (TORCH_TRACE)."
)
_MERGED = (
    "as no file tells which is which: search for a module in it without the number of its block."
)
_BY_OPERATOR = "Search for the operator of a module that is missing."
_NO_LOG = (
    "No file is a log of the compiler, so no graph break can be found: start the run with "
    "TORCH_LOGS and TORCH_TRACE, and add what they write (page Compilation says how)."
)
_NO_BREAK = "The logs of the compiler have no graph break."
_MOST_NAMES = 10  # of modules in a sentence
_BREAKS = frozenset(("break", "breaks"))
_HAS_BREAK: tuple[EntryKind, ...] = ("graph break", "skipped frame")
_LAYER = re.compile(r"(?:layers?|blocks?|stages?)?_?(\d+)", re.IGNORECASE)
_RECOMPILING = re.compile(r"\brecompil\w*")  # "recompile" is no part of "recompilation"
_MOST_PER_KIND = 8  # of one answer: twelve equal layers must not hide the kernel


@dataclass(frozen=True)
class SearchEntry:
    """Something with a dossier."""

    kind: EntryKind
    title: str
    detail: str  # what else is searched, and shown beside it
    item: Item
    step_ns: float | None = None  # its time per step, of whichever run has the most
    change_ns: float | None = None  # of that time from the baseline to the candidate
    module: str = ""  # paths of the modules that it is or lies in
    words: str = ""  # searched too, and not shown
    sides_ns: tuple[float, ...] = ()  # per step of the baseline and the candidate; (): not told
    runs: str = ""  # that the times are of, "eager → default", shown and not searched; "": clear
    became: Became = ""  # of a group: what it takes in the candidate


class SearchIndex:
    """The entries, ready to be asked many times.

    Args:
        entries: in any order.
        has_log: does a run say what its compiler did?
        n_merged: calls of one compiled block that fall together, as nothing tells them apart.
        nameless: why some groups have no module, in a sentence; "" where all have one.
        span: what those calls are counted in.
    """

    def __init__(
        self,
        entries: Iterable[SearchEntry],
        has_log: bool = False,
        n_merged: int = 0,
        nameless: str = "",
        span: Span = PER_STEP,
    ) -> None:
        self.entries = tuple(entries)
        self._has_log = has_log
        self._n_merged = n_merged
        self._nameless = nameless
        self._span = span
        self._titles = [entry.title.lower() for entry in self.entries]
        self._texts = [
            f"{title}\n{entry.detail.lower()}\n{entry.kind}\n{entry.words.lower()}"
            for title, entry in zip(self._titles, self.entries, strict=True)
        ]

    def no_match(self, query: str, *, has_page: bool = False) -> str:
        """What is said where nothing matches these words.

        Args:
            query: the words.
            has_page: does a page match, so that they may well not be about a module? Then "" but
                for a question about graph breaks.
        """
        if self.entries and _BREAKS & set(query.lower().split()):
            has_break = any(entry.kind in _HAS_BREAK for entry in self.entries)
            why = _NO_BREAK if self._has_log else _NO_LOG
            return _NO_MATCH if has_break else f"{_NO_MATCH} {why}"
        if unheard := self._no_such_change(query):
            return unheard
        modules = [entry.title for entry in self.entries if entry.kind == "module"]
        asks_layer = any(map(_numbered, _parts(query)))
        if has_page and not (asks_layer and self.entries and not modules):
            return ""
        if self._n_merged and any(map(_numbered, _parts(query))):
            return f"{_NO_MATCH} {fall_together(self._n_merged, self._span)}, {_MERGED}"
        if self.entries and not modules:
            return f"{_NO_MATCH} {_NO_MODULES}"
        why_not = (self._nameless, _BY_OPERATOR) if self._nameless else ()
        return " ".join((f"{clause(_NO_MATCH)}{_named(modules)}.", *why_not))

    def _no_such_change(self, query: str) -> str:
        """That no group became slower (or faster), where that is asked, in a sentence; else ""."""
        groups = [entry.became for entry in self.entries if entry.kind == "group"]
        asked = next((change for change in _CHANGES if change in query.lower().split()), "")
        if not groups or not asked or asked in groups:
            return ""
        other: Became = "faster" if asked == "slower" else "slower"
        n_other, n_alike = groups.count(other), groups.count("alike")
        alike = f", and {n_alike} stayed within 5 %" if n_alike else ""
        return f"No group became {asked}: {n_other} of {len(groups)} became {other}{alike}."

    def search(self, query: str, most: int) -> tuple[SearchEntry, ...]:
        """The best entries for some words, best first; none for no word."""
        whole, words = _read(query)
        if not words:
            return ()
        by_change = not set(_CHANGES).isdisjoint(words)
        words, indices = _without_indices(words)
        ranked = []
        for number, text in enumerate(self._texts):
            entry = self.entries[number]
            if all(_occurs(word, text) for word in words) and _is_below(entry.module, indices):
                rank = _rank(self._titles[number], whole, words)
                if entry.kind == "source line" and self._titles[number] in words:
                    rank = 0  # with its function behind it, as stacks have it
                if indices and entry.kind == "module" and _is_the_layer(entry.title, indices[-1]):
                    rank = 0
                size_ns = abs(entry.change_ns or 0.0) if by_change else entry.step_ns or 0.0
                key = (
                    not _is_named_so(entry.module, indices),
                    rank, _KINDS.index(entry.kind), -size_ns, number,
                )  # fmt: skip
                ranked.append((key, entry))
        ranked.sort(key=lambda pair: pair[0])
        chosen: list[SearchEntry] = []
        n_of: dict[EntryKind, int] = {}
        for _, entry in ranked:
            n_of[entry.kind] = n_of.get(entry.kind, 0) + 1
            if n_of[entry.kind] <= _MOST_PER_KIND:
                chosen.append(entry)
            if len(chosen) == most:
                break
        return tuple(chosen)


def _named(modules: list[str]) -> str:
    """The modules that lie in no other, as the end of a sentence; "" for none and for many.

    Args:
        modules: paths of all, and "(model)" or "(optimizer)" for what is in none.
    """
    outermost = [path for path in modules if "." not in path and not path.startswith("(")]
    if not 0 < len(outermost) <= _MOST_NAMES:
        return ""
    which = "outermost " if any("." in path for path in modules) else ""
    are = "module that they name is" if len(outermost) == 1 else "modules that they name are"
    return f"; the {which}{are} {listed(outermost)}"


def matches_all(query: str, text: str) -> bool:
    """Does some part of a text begin with each word of a query; false for no word?"""
    _, words = _read(query)
    return bool(words) and all(_begins_a_part(text.lower(), word) for word in words)


def _read(query: str) -> tuple[str, list[str]]:
    """A query in small letters, and those of its words that do not only hold it together."""
    whole = _RECOMPILING.sub("recompil", " ".join(query.lower().split()))
    return whole, [word for word in whole.split() if word not in _FILLERS] or whole.split()


def _without_indices(words: list[str]) -> tuple[list[str], list[str]]:
    """The words without "layer 7" and the like, and the numbers in these."""
    left: list[str] = []
    indices: list[str] = []
    for word in words:
        if word.isdecimal() and left and left[-1] in _IN_A_ROW:
            left.pop()
            indices.append(word)
        else:
            left.append(word)
    return left, indices


def _occurs(word: str, text: str) -> bool:
    """Is a word in a text, however either is spelled: all_reduce, AllReduce, batchnorm?"""
    return word in text or word.replace("_", "") in text.replace("_", "")


def _is_the_layer(path: str, index: str) -> bool:
    """Is it the module that is called so, "h.3" or "layer3", and nothing in it?"""
    return _numbered(path.rsplit(".", 1)[-1]) == index


def _is_below(modules: str, indices: list[str]) -> bool:
    """Does each number stand for itself in the path of a module, as "3" or "layer3"?"""
    numbers = {_numbered(part) for part in _parts(modules)} if indices else set()
    return numbers.issuperset(indices)


def _is_named_so(modules: str, indices: list[str]) -> bool:
    """Is a part of a path called "layer3", where "3" of `layer2.3` may be meant less?"""
    words = {f"{word}{index}" for word in ("layer", "block", "stage") for index in indices}
    return bool(words) and not words.isdisjoint(_parts(modules.lower()))


def _parts(modules: str) -> list[str]:
    """The names in paths of modules."""
    return re.split(r"[.,\s\[\]]+", modules)


def _numbered(part: str) -> str:
    """The number of a part of a path, "3" of "3", "layer3" and "block_3"; "" for any other."""
    layer = _LAYER.fullmatch(part)
    return layer[1] if layer else ""


def _rank(title: str, whole: str, words: list[str]) -> int:
    if title == whole:
        return 0
    if title.startswith(whole):
        return 1
    begins = [_begins_a_part(title, word) for word in words]
    if all(begin == "whole" for begin in begins):
        return 2
    if all(begins):
        return 3
    return 4 if all(word in title for word in words) else 5


def _begins_a_part(title: str, word: str) -> Literal["", "begin", "whole"]:
    """Does a part of a name begin with a word, or is it one?"""
    best: Literal["", "begin", "whole"] = ""
    at = title.find(word)
    while at >= 0:
        before = title[at - 1] if at else " "
        if not before.isalnum() and before != "×":  # "embedding ×3" is no third one
            end = at + len(word)
            if end == len(title) or not title[end].isalnum():
                return "whole"
            best = "begin"
        at = title.find(word, at + 1)
    return best
