"""What the ledger answers: groups whose times add up to both runs' device time exactly."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.categories import is_kernel
from profiler_core.analysis.kernel_names import short_kernel_name
from profiler_core.analysis.ledger.program import Phase
from profiler_core.analysis.span import PER_STEP, Span

Kind = Literal["matched", "removed", "only in the candidate", "unmatched"]
Confidence = Literal["high", "medium", "low", "undecidable"]
LEAST_SURE_FIRST: tuple[Confidence, ...] = ("undecidable", "low", "medium", "high")

# What says which operators a compiled run's kernels compute, the weakest that it rests on: the
# graphs of a structured log, the shapes that operators and generated kernels are handed, or the
# kernels' names and their order alone. Two runs without any compiled call: shapes.
Basis = Literal["logs", "shapes", "names"]

Became = Literal["slower", "faster", "alike", ""]
_ALIKE = 0.05  # two runs of the same code differ by this much


def changed(before_ns: float, after_ns: float) -> Became:
    """Is a time shorter, longer or within 5 % of what it was?"""
    if after_ns < (1 - _ALIKE) * before_ns:
        return "faster"
    return "slower" if after_ns > (1 + _ALIKE) * before_ns else "alike"


_NAMED_IN_ORDER = 2  # operators of a title that no later one goes before


@dataclass(frozen=True)
class OperatorTime:
    """Operators of one name in a group. Totals over all profiled steps of the run."""

    op: str  # "aten::linear", or the generated kernel's name
    n: int  # calls
    n_kernels: int
    time_ns: int
    n_copies: int = 0  # copies and memsets, which are no kernels
    lines: tuple[str, ...] = ()  # labels of its calls' source lines: "models.py:28"


@dataclass(frozen=True)
class KernelTime:
    """Device events of one name in a group."""

    name: str
    category: str
    n: int
    time_ns: int
    lines: tuple[str, ...] = ()  # labels of the operators' source lines: "models.py:28"

    @property
    def is_kernel(self) -> bool:
        """Or a copy or memset, which are counted apart."""
        return is_kernel(self.name, self.category)


@dataclass(frozen=True)
class ModuleWork:
    """What a group's kernels that compute operators of the same modules do together."""

    # nn.Module and how many of its operators these kernels compute; (): no file says whose they are
    operators: tuple[tuple[str, int], ...]
    n_kernels: int
    time_ns: int
    bytes_moved: int | None  # read and written, at least; None: a shape is not known
    n_copies: int = 0  # copies and memsets, which are no kernels


@dataclass(frozen=True)
class LineWork:
    """What a group's kernels that come from the same source lines do together."""

    labels: tuple[str, ...]  # "models.py:28"; (): no file says where they come from
    time_ns: int


@dataclass(frozen=True)
class GroupSide:
    """One side of a group; time_ns == sum over operators == over kernels == over modules."""

    operators: tuple[OperatorTime, ...] = ()
    kernels: tuple[KernelTime, ...] = ()
    n_events: int = 0  # device events: kernels, copies and memsets
    time_ns: int = 0
    calls: tuple[tuple[int, int], ...] = ()  # (graph, by its place in the log, index of the call)
    bytes_read: int | None = None  # at least, from shapes; None: a shape is not known
    bytes_written: int | None = None
    undecidable_ns: int = 0  # of kernels that another group explains equally well
    modules: tuple[ModuleWork, ...] = ()
    lines: tuple[LineWork, ...] = ()
    counts_once: bool = False  # its bytes, also what a kernel without its code changes in place
    looks_up: bool = False  # rows of tables, which count as often as they are read
    largest_bytes: int = 0  # that one call of an operator moves; 0: not known
    # Calls that launch kernels, over all profiled steps: an operator's casts are calls of their
    # own. It is these that bytes are of; 0: not known.
    n_launching: int = 0

    @property
    def n_calls(self) -> int:
        """Of operators, or of generated kernels, over all profiled steps of the run."""
        return sum(operator.n for operator in self.operators)

    @property
    def n_kernels(self) -> int:
        """Kernels alone, over all profiled steps of the run."""
        return sum(kernel.n for kernel in self.kernels if kernel.is_kernel)

    @property
    def n_copies(self) -> int:
        """Copies and memsets, over all profiled steps of the run."""
        return self.n_events - self.n_kernels

    @property
    def bytes_moved(self) -> int | None:
        """Read and written; over time_ns an effective bandwidth."""
        if self.bytes_read is None or self.bytes_written is None:
            return None
        return self.bytes_read + self.bytes_written

    @property
    def undecidable_share(self) -> float | None:
        """Share of the side's time that another group explains equally well."""
        return self.undecidable_ns / self.time_ns if self.time_ns else None

    @property
    def bytes_per_s(self) -> float | None:
        """Effective bandwidth; caches may lift it above the memory's."""
        moved = self.bytes_moved
        return moved / (self.time_ns * 1e-9) if moved is not None and self.time_ns else None


@dataclass(frozen=True)
class AddedWork:
    """What a group's kernels compute besides for an operator of another group: its bias."""

    op: str  # "aten::conv2d"
    modules: tuple[str, ...]  # that this operator is of; (): no file says it
    baseline_ns: int  # that the baseline needs for it, in the other group
    sources: tuple[tuple[str, str], ...]  # of the other group; (): no file says its lines


# Of a group whose kernels do nothing else: a note, what it is known by.
COPIES_INPUTS = "copies inputs into the CUDA graph's own memory"
SEEDS_REPLAY = "sets the seed and offset from which the CUDA graph draws random numbers"
_SEED_AND_OFFSET = "seed and offset of random numbers"  # two fills, by what runs


@dataclass(frozen=True)
class FusionGroup:
    """What some operators of the baseline became in the candidate.

    `kind` says how it counts: "removed" is matched too (the graph shows that nothing computes it
    any more), "only in the candidate" is the cost of compiling (copies into a graph's inputs,
    masks built anew), "unmatched" is what nobody could place.
    """

    kind: Kind
    phase: Phase
    baseline: GroupSide
    candidate: GroupSide
    sources: tuple[tuple[str, str], ...] = ()  # ("modeling_bert.py:84", the line's text)
    # The deepest nn.Module that all of it lies in: "encoder.layer.3.attention"; where only classes
    # are known "BertEncoder_0.BertLayer_3"; "(model)" for the model itself. None: no file says it.
    module: str | None = None
    notes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    adds: tuple[AddedWork, ...] = ()  # of its kernels in the candidate
    confidence: Confidence = "high"
    step_class: int = 0
    n_steps: tuple[int, int] = (
        1,
        1,
    )  # profiled steps of either run
    class_steps: tuple[int, int] = (1, 1)  # how many of them are of its class, and so have it

    def per_step(self, total: float, side: int) -> float:
        """A total of one side (0 is the baseline's) over the profiled steps of that side's run.

        An average over all steps of the run, also over those without this group: so the times per
        step of all groups sum to the run's device time per step.
        """
        return total / max(1, self.n_steps[side])

    def per_own_step(self, total: float, side: int) -> float:
        """The same over the steps of its class alone: how often it does something where it runs."""
        return total / max(1, self.class_steps[side])

    @property
    def serves_replay(self) -> bool:
        """Does it only prepare the replay of a CUDA graph? Then no line of a model is behind it."""
        return COPIES_INPUTS in self.notes or SEEDS_REPLAY in self.notes

    @property
    def became(self) -> Became:
        """What it takes in the candidate, against the baseline; "" where one side has nothing."""
        before, after = self.baseline_step_ns, self.candidate_step_ns
        return changed(before, after) if before and after else ""

    @property
    def delta_ns(self) -> float:
        """Change per step, ns; below 0: the candidate is faster here."""
        return self.candidate_step_ns - self.baseline_step_ns

    @property
    def baseline_step_ns(self) -> float:
        """Time of the baseline's side per step of its run."""
        return self.per_step(self.baseline.time_ns, 0)

    @property
    def candidate_step_ns(self) -> float:
        """Time of the candidate's side per step of its run."""
        return self.per_step(self.candidate.time_ns, 1)

    @property
    def title(self) -> str:
        """`mul + pow + add ×2`: the operators of the side that has names for them.

        In the program's order, but one further down that takes most of the time goes first.
        """
        if SEEDS_REPLAY in self.notes:
            return _SEED_AND_OFFSET
        which = 0 if self.baseline.operators else 1
        side = (self.baseline, self.candidate)[which]
        operators = list(side.operators)
        for position, operator in enumerate(operators[_NAMED_IN_ORDER:], _NAMED_IN_ORDER):
            if 2 * operator.time_ns > side.time_ns:
                operators.insert(0, operators.pop(position))
                break
        names = []
        for operator in operators[:6]:
            times = round(self.per_own_step(operator.n, which))
            names.append(
                f"{short_name(operator.op)} ×{times}" if times > 1 else short_name(operator.op)
            )
        return " + ".join(names) + (" + …" if len(operators) > 6 else "")


@dataclass(frozen=True)
class StepClass:
    """Steps with one sequence of operators on either side; their times are added up."""

    baseline_steps: tuple[int, ...]
    candidate_steps: tuple[int, ...]


def _no_operators() -> npt.NDArray[np.int32]:
    return np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class FusionLedger:
    """The whole ledger.

    For each side the groups' times sum to `*_ns`, the device time of the profiled steps. Times are
    totals over `n_*_steps`; `FusionGroup.per_step` and `compiled_only_step_ns` divide them.
    """

    groups: tuple[FusionGroup, ...]
    baseline_ns: int
    candidate_ns: int
    n_baseline_steps: int
    n_candidate_steps: int
    step_classes: tuple[StepClass, ...]
    baseline_group: npt.NDArray[np.int32] = field(repr=False)  # row of device_work -> group, -1
    candidate_group: npt.NDArray[np.int32] = field(repr=False)
    # Row of device_work -> may it as well be in another group?
    baseline_undecided: npt.NDArray[np.bool_] = field(repr=False)
    candidate_undecided: npt.NDArray[np.bool_] = field(repr=False)
    # Row of device_work -> place in `operators` of what started it, -1.
    baseline_operator: npt.NDArray[np.int32] = field(repr=False, default_factory=_no_operators)
    candidate_operator: npt.NDArray[np.int32] = field(repr=False, default_factory=_no_operators)
    operators: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what the files did not allow, one sentence each
    known_by: Basis = "logs"
    module_classes: tuple[tuple[str, str], ...] = ()  # nn.Module -> class, by calls, guards
    # nn.Module -> calls per step that fall together in it, as no file says of which module each is.
    merged_calls: tuple[tuple[str, int], ...] = ()
    span: Span = PER_STEP  # what times are of once they are divided by the steps of their run
    merged_parts: tuple[str, ...] = ()  # of these the parts of the model that calls enter
    is_alone: bool = False  # of one run, which is faced with itself

    def of_kind(self, *kinds: Kind) -> Iterator[FusionGroup]:
        """The groups that count in one of these ways."""
        return (group for group in self.groups if group.kind in kinds)

    @property
    def n_placed(self) -> int:
        """Groups of which it is known how they count, those of one side alone included."""
        return sum(1 for group in self.groups if group.kind != "unmatched")

    @cached_property
    def unmatched_baseline_ns(self) -> int:
        """Device time of the baseline that nobody could place."""
        return sum(group.baseline.time_ns for group in self.of_kind("unmatched"))

    @cached_property
    def unmatched_candidate_ns(self) -> int:
        """Device time of the candidate that nobody could place."""
        return sum(group.candidate.time_ns for group in self.of_kind("unmatched"))

    @property
    def undecidable_baseline(self) -> float | None:
        """Share of the baseline's device time that another group explains equally well."""
        undecided = sum(group.baseline.undecidable_ns for group in self.groups)
        return undecided / self.baseline_ns if self.baseline_ns else None

    @property
    def undecidable_candidate(self) -> float | None:
        """The same of the candidate; None without device time."""
        undecided = sum(group.candidate.undecidable_ns for group in self.groups)
        return undecided / self.candidate_ns if self.candidate_ns else None

    @cached_property
    def compiled_only_ns(self) -> int:
        """Device time that only the candidate spends, and why is known."""
        return sum(group.candidate.time_ns for group in self.of_kind("only in the candidate"))

    @property
    def compiled_only_step_ns(self) -> float:
        """The same per step of the candidate."""
        return self.compiled_only_ns / max(1, self.n_candidate_steps)

    @property
    def coverage_baseline(self) -> float | None:
        """1 − unmatched / device time; None without device time."""
        return 1 - self.unmatched_baseline_ns / self.baseline_ns if self.baseline_ns else None

    @property
    def coverage_candidate(self) -> float | None:
        """1 − unmatched / device time; None without device time."""
        return 1 - self.unmatched_candidate_ns / self.candidate_ns if self.candidate_ns else None


def short_name(op: str) -> str:
    """`aten::add_` -> "add"; a generated kernel keeps its kind and operators.

    Of a kernel that no operator launches the short name of kernels: "batch_norm_backward_kernel".
    """
    if "<" in op or "(" in op:
        return short_kernel_name(op)
    bare = op.removeprefix("aten::").split("::")[-1]
    return bare[:-1] if bare.endswith("_") and not bare.endswith("__") else bare
