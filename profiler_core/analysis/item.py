"""What a dossier can be about, named in one text that addresses, links and searches share.

    kernel:triton_poi_fused_add_relu_0     a kernel, copy or memset, by its name
    operator:aten::addmm                   an operator, by its name
    group:1.17                             a fusion group: run, place in that run's ledger
    break:1.0                              a graph break: run, place in that run's log
    skip:1.0                               a skipped frame: run, place in that run's log
    finding:1.launch_bound                 a finding: run, its key
    event:1.device.204                     an event: run, table of its trace, row
    module:encoder.layer.3.attention       an nn.Module, by its path
    source:modeling_bert.py:84             a line of the user's code, as the ledger labels it
    rank:1.3                               a rank of a job: run, rank
    rank:1.3.0                             one step of it: its place among the profiled steps

A run is its place in the comparison: 0 is the baseline, 1 the first candidate. What all runs have
by name can be told beside another candidate than that which pages show first:

    module@2:encoder.layer.3               the same module beside the second candidate
"""

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal, get_args

ItemKind = Literal[
    "kernel", "operator", "group", "break", "skip", "finding", "event", "module", "source", "rank"
]

_KINDS = frozenset(get_args(ItemKind))
_OF_CANDIDATE = frozenset(("kernel", "operator", "module", "source"))
_LONGEST_KEY = 120  # characters; a C++ template's name may have thousands
_LONGEST_TEXT = 600  # of an address
_LARGEST = 10**9


@dataclass(frozen=True)
class Item:
    """One thing, named. The key's form depends on the kind."""

    kind: ItemKind
    key: str
    of: int | None = None  # place of the candidate beside which it is told; None: the first shown

    @property
    def text(self) -> str:
        """As an address holds it; `read_item` reads it again."""
        candidate = "" if self.of is None else f"@{self.of}"
        return f"{self.kind}{candidate}:{self.key}"

    @property
    def is_by_name(self) -> bool:
        """Do all runs have it by its name, so that it can be told beside any candidate?"""
        return self.kind in _OF_CANDIDATE

    @property
    def candidate(self) -> int | None:
        """Place of the candidate that it is of or told beside; None: none, or the first shown."""
        return self.of or self.run or None

    @property
    def named(self) -> "Item":
        """The same beside no candidate in particular, as findings name it."""
        return replace(self, of=None)

    def beside(self, candidate: int | None) -> "Item":
        """The same told beside a candidate; what is of one run stays as it is."""
        return replace(self, of=candidate) if self.is_by_name else self

    @property
    def is_of_run(self) -> bool:
        """Does its key count runs, so that it means something else beside other runs?"""
        return self.kind in ("group", "break", "skip", "finding", "event", "rank")

    @property
    def run(self) -> int | None:
        """The place in the comparison of the run that its key begins with; None: with none."""
        run, dot, _ = self.key.partition(".")
        return int(run) if self.is_of_run and dot and _is_number(run) else None

    @property
    def numbers(self) -> tuple[int, int] | None:
        """(run, place) of a group, a break or a skipped frame; None: the key is no such pair."""
        run, dot, number = self.key.partition(".")
        if not (dot and _is_number(run) and _is_number(number)):
            return None
        return int(run), int(number)


def read_item(text: str) -> Item | None:
    """The item that an address names; None where it names none: links are typed and cut."""
    head, colon, key = text.partition(":")
    kind, at, candidate = head.partition("@")
    if not colon or kind not in _KINDS or not key or len(text) > _LONGEST_TEXT:
        return None
    if at and (kind not in _OF_CANDIDATE or not _is_number(candidate) or not int(candidate)):
        return None
    return Item(kind, key, int(candidate) if at else None)  # type: ignore[arg-type]  # it is one


def kernel_item(name: str) -> Item:
    """A kernel, copy or memset; a long name is cut, and told from those alike by a digest."""
    return Item("kernel", name_key(name))


def operator_item(name: str) -> Item:
    """An operator as the trace names it."""
    return Item("operator", name_key(name))


def group_item(run: int, number: int) -> Item:
    """A fusion group of a candidate, by its place in the ledger.

    Args:
        run: place of the candidate in the comparison, from 1.
        number: place of the group in `FusionLedger.groups`.
    """
    return Item("group", f"{run}.{number}")


def break_item(run: int, number: int) -> Item:
    """A graph break of a run, by its place in the log of its compiler (`graph_breaks`)."""
    return Item("break", f"{run}.{number}")


def skip_item(run: int, number: int) -> Item:
    """A skipped frame of a run, by its place in the log of its compiler (`frame_skips`)."""
    return Item("skip", f"{run}.{number}")


def finding_item(run: int, key: str) -> Item:
    """A finding of a candidate, by its rule's key; 0: of the baseline, or of a run alone."""
    return Item("finding", f"{run}.{name_key(key)}")


def event_item(run: int, table: str, row: int) -> Item:
    """An event of a run's trace, as the timeline's address names it."""
    return Item("event", f"{run}.{table}.{row}")


def module_item(path: str) -> Item:
    """An nn.Module; in a path `*` stands for any number."""
    return Item("module", name_key(path))


def rank_item(run: int, rank: int, step: int | None = None) -> Item:
    """A rank of a run's job, or one of its profiled steps, counted from 0."""
    return Item("rank", f"{run}.{rank}" if step is None else f"{run}.{rank}.{step}")


def source_item(label: str) -> Item:
    """A line of code, as groups label it: "modeling_bert.py:84"."""
    return Item("source", name_key(label))


def name_key(name: str) -> str:
    """What stands for a name in an address; the same for equal names alone."""
    if len(name) <= _LONGEST_KEY:
        return name
    return f"{name[: _LONGEST_KEY - 17]}~{blake2b(name.encode(), digest_size=8).hexdigest()}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text[:12]) < _LARGEST
