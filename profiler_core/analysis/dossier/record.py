"""The dossier: all that is known about a kernel, operator, group, break, event, module or line.

Times are ns per step of the run that they are of, on the clock of its trace; of all of a trace
that marks no steps. A part that cannot
be computed is empty, and `missing` says why in one sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from profiler_core.analysis.counters.kernels import KernelCounters
from profiler_core.analysis.counters.measured import Measured
from profiler_core.analysis.dossier.roofline import Roofline
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.item import Item
from profiler_core.analysis.ranks.rank_time import StepTime
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.model.compilation import Frame


@dataclass(frozen=True)
class RunTime:
    """What it takes in one run. None: not known, or it does not run there."""

    run: int  # place in the comparison
    label: str
    time_ns: float | None = None
    n: float | None = None  # calls per step
    mean_ns: float | None = None  # of a call, as the next two
    min_ns: float | None = None
    max_ns: float | None = None
    unknown: str = ""  # why nothing is known of a whole step of its trace
    inside: tuple[str, ...] = ()  # operators of a CPU that call it here, whose time has its own


@dataclass(frozen=True)
class Related:
    """Another thing that belongs to it, with a dossier of its own; without `item` only a name."""

    title: str
    item: Item | None = None
    note: str = ""
    times_ns: tuple[float | None, ...] = ()  # one for each run of `Dossier.heads`

    @property
    def most_ns(self) -> float:
        """The longest time on any side."""
        return max((ns for ns in self.times_ns if ns is not None), default=0.0)


RelationKind = Literal[
    "became", "kernels", "operators", "modules", "members", "breaks", "skips", "parts", "steps",
    "called", "ranks", "functions",
]  # fmt: skip


@dataclass(frozen=True)
class Relation:
    """Things that belong to it in one way, the slowest first."""

    kind: RelationKind
    heads: tuple[str, ...]  # what the times are of: names of runs
    entries: tuple[Related, ...]
    sentence: str = ""  # about all of them
    n_left_out: int = 0


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's code, with what the capture kept around it."""

    label: str  # "modeling_bert.py:84"
    frame: Frame
    lines: Mapping[int, str]  # number -> text; empty: none were kept


@dataclass(frozen=True)
class Arguments:
    """What one operator or kernel is handed and gives, as people write it: "8×128 float"."""

    label: str  # of the run
    operator: str
    inputs: str
    outputs: str = ""  # "": not recorded
    n: float | None = None  # calls per step


@dataclass(frozen=True)
class Launch:
    """How a kernel is launched in one run: what occupancy rests on."""

    label: str
    grids: tuple[str, ...] = ()  # "grid [1568,1,1], block [128,1,1]", most frequent first
    occupancy_pct: float | None = None  # the profiler's estimate, of the time-weighted mean call
    registers_per_thread: int | None = None
    shared_memory_bytes: int | None = None
    launched_by: tuple[str, ...] = ()
    n_blocks: int | None = None  # of its largest grid
    n_multiprocessors: int | None = None  # of the device


@dataclass(frozen=True)
class GeneratedCode:
    """A generated kernel, or the calls of a library."""

    name: str
    language: str
    text: str
    stores: frozenset[int] = frozenset()  # 1-based lines of `text` that store its results
    graph: str = ""  # "0/0 forward"; of several, "1/0 inference, 1/1 inference"


@dataclass(frozen=True)
class TimelineEvent:
    """One event on the timeline."""

    run: int
    label: str
    table: str  # of the trace
    row: int


@dataclass(frozen=True)
class TimelineStep:
    """One profiled step of a rank on the timeline."""

    run: int
    label: str
    rank: int
    number: int  # among the profiled steps that all ranks have
    time: StepTime


@dataclass(frozen=True)
class Advice:
    """What went wrong at a place, and what to change."""

    what: str
    change: str
    reason: str = ""  # in PyTorch's words
    url: str = ""
    gb_id: str = ""
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class StandsOut:
    """A finding whose evidence the thing is."""

    finding: Finding
    label: str = ""  # of the candidate in which it stands out; "": it goes without saying


@dataclass(frozen=True)
class Dossier:
    """All of it."""

    item: Item
    kind: str  # "kernel", "fusion group"
    title: str
    answer: str = ""  # the one sentence that matters most
    about: tuple[str, ...] = ()  # further sentences
    times: tuple[RunTime, ...] = ()
    is_of_cpu: bool = False  # no run has device events: operators are the work
    span: Span = PER_STEP  # what its times are of
    beside: int | None = None  # place of the one of several candidates that it leads on beside
    modules: tuple[str, ...] = ()
    # Module or label of a source line -> the runs in which it runs there, where these are not all.
    runs_at: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    advice: Advice | None = None
    rooflines: tuple[Roofline, ...] = ()
    relations: tuple[Relation, ...] = ()
    sources: tuple[SourceLine, ...] = ()
    arguments: tuple[Arguments, ...] = ()
    launches: tuple[Launch, ...] = ()
    counters: tuple[KernelCounters | None, ...] = ()  # one for each of `times`
    # Of a group one for each of `times`, with the bytes that shapes say of the same kernels.
    measured: tuple[tuple[Measured, float | None] | None, ...] = ()
    durations_ns: tuple[tuple[int, ...], ...] = ()  # of single calls, one for each of `times`
    generated: tuple[GeneratedCode, ...] = ()
    on_timeline: tuple[TimelineEvent, ...] = ()
    steps_on_timeline: tuple[TimelineStep, ...] = ()
    findings: tuple[StandsOut, ...] = ()
    missing: tuple[str, ...] = field(default=())
    page: str = ""  # that shows what a finding is about; "": it is no finding
    filters: tuple[tuple[str, str], ...] = ()  # of that page, as parameters of its address
