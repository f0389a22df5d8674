"""What the compiler said: records made from TORCH_LOGS text and TORCH_TRACE structured logs.

Raw facts only. Causes, remedies and costs are made from them in `analysis`. Names follow PyTorch:
a compile id `2/1` is frame 2, compiled for the second time; `!0/2/1` belongs to a compiled
autograd graph; a trailing `_1` is the second attempt within one compilation and is cut off here.
Places are as the log has them: they are shown, never opened.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SourceKind = Literal["text", "structured"]


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a Python stack."""

    file: str
    line: int
    function: str
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBreak:
    """One distinct break: (file, line, reason). `n` times met, in `compile_ids`."""

    file: str  # the innermost frame, the place Dynamo names
    line: int
    function: str  # without Dynamo's resume prefix
    reason: str  # one line, without addresses
    explanation: str = ""
    hints: tuple[str, ...] = ()
    context: str = ""  # Dynamo's developer debug context
    gb_id: str | None = None  # "GB0059", torch >= 2.9
    stack: tuple[Frame, ...] = ()  # outermost first; empty where only repeats were logged
    n: int = 1
    compile_ids: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSkip:
    """A break after which Dynamo gave the whole frame up: it runs eager, every time."""

    function: str | None  # the frame that runs eager; None where the log does not name it
    function_line: int | None  # its first line
    file: str | None  # the place of the break; None where the log does not name it
    line: int | None
    reason: str
    explanation: str = ""
    hints: tuple[str, ...] = ()
    gb_id: str | None = None
    stack: tuple[Frame, ...] = ()
    n: int = 1
    compile_ids: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardFailure:
    """Why one cached compilation did not fit: one guard that failed."""

    guard: str  # normalised: `x`, never `L['x']`; addresses cut
    entry: str | None = None  # the compile id whose guard it is, torch >= 2.5
    code: str = ""  # the user's line that made the guard
    file: str = ""  # as printed there: torch cuts the front of the path off
    line: int | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recompile:
    """One compilation of a function that was compiled before."""

    function: str
    file: str
    line: int  # first line of the function
    reasons: tuple[GuardFailure, ...]  # newest cache entry first: the first is the telling one
    compile_id: str | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitHit:
    """The recompile limit was reached: from here on the function runs eager for new inputs."""

    function: str
    file: str
    line: int
    is_rest: bool = False  # what follows a graph break at `line` in `function`, not all of it
    limit: str | None  # "recompile_limit", "accumulated_recompile_limit", before 2.7 "cache_size_…"
    value: int | None = None
    last_reason: str = ""
    compile_id: str | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Time in one phase of one compilation: calls with the same path are added up."""

    path: tuple[str, ...]  # outermost phase first
    n: int
    start_ns: int  # first call, ns since the first phase of the log
    dur_ns: int  # with everything inside it


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """One run of the compiler over one frame, or over one backward graph."""

    compile_id: str
    direction: Literal["forward", "backward", "runtime"] = "forward"
    function: str | None = None
    file: str | None = None
    line: int | None = None
    start_ns: int | None = None  # epoch
    dur_ns: int | None = None
    phase_ns: Mapping[str, int] = field(default_factory=dict)  # torch's own totals; they nest
    phases: tuple[Phase, ...] = ()
    cache: Mapping[str, str] = field(default_factory=dict)  # cache -> "hit", "miss", "bypass"
    guard_count: int | None = None
    graph_op_count: int | None = None
    graph_node_count: int | None = None
    restart_reasons: tuple[str, ...] = ()
    fail_type: str | None = None
    fail_reason: str | None = None
    has_guarded_code: bool | None = None
    cudagraph_skip_reason: str | None = None
    rank: int | None = None

    @property
    def is_compiling(self) -> bool:
        """Does it compile? Else it autotunes, or records a CUDA graph, at a first call."""
        return self.direction != "runtime"

    @property
    def has_code(self) -> bool:
        """Did it compile, and leave code? Not what failed, met the limit or was given up."""
        return self.is_compiling and self.fail_type is None and self.has_guarded_code is not False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileFailure:
    """The compiler gave up with an error; `suppressed` where the frame then ran eager."""

    error: str  # the class, without its module
    reason: str
    suppressed: bool | None  # None: the source does not tell
    function: str | None = None
    file: str | None = None  # the innermost line of the user's code; suppressed: the frame's first
    line: int | None = None
    gb_id: str | None = None
    code: str = ""  # that line
    hints: tuple[str, ...] = ()  # torch's own
    remedy: str = ""
    n: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaGraphEvent:
    """What happened to CUDA graphs.

    skip: a graph is not captured; re-record: captured again for other inputs;
    partition: split, `reason` says why; record: captured.
    """

    kind: Literal["skip", "re-record", "partition", "record"]
    reason: str
    file: str | None = None  # the user's line, where the log has it
    line: int | None = None
    n: int = 1
    compile_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfHint:
    """One message of Inductor's perf_hints, `n` times."""

    text: str
    n: int = 1
    compile_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionDecision:
    """Two scheduler nodes that Inductor looked at and did not fuse (TORCH_LOGS=fusion)."""

    first: str
    second: str
    reason: str
    compile_id: str | None
    n: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBound:
    """Something that this source and version cannot show."""

    about: str  # a key of the JSON answer: "graph_breaks", "recompiles", …
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileLog:
    """All of it, from one source or from several merged. Lists are in the order of the log."""

    sources: tuple[SourceKind, ...] = ()
    torch_version: str | None = None  # exact, where a log or the run says it
    version_range: tuple[str, str] | None = None  # else what the wording allows
    graph_breaks: tuple[GraphBreak, ...] = ()
    frame_skips: tuple[FrameSkip, ...] = ()
    recompiles: tuple[Recompile, ...] = ()
    limit_hits: tuple[LimitHit, ...] = ()
    compilations: tuple[Compilation, ...] = ()
    failures: tuple[CompileFailure, ...] = ()
    cudagraph_events: tuple[CudaGraphEvent, ...] = ()
    perf_hints: tuple[PerfHint, ...] = ()
    fusion_decisions: tuple[FusionDecision, ...] = ()
    warnings: tuple[str, ...] = ()  # lines that change how the run must be read
    lower_bound: tuple[LowerBound, ...] = ()
    n_lines: int = 0
    n_unparsed: int = 0  # records of a known kind that could not be understood
    unparsed: tuple[str, ...] = ()  # the first of them
    other_records: Mapping[str, int] = field(default_factory=dict)  # kind -> records kept aside
    repairs: Mapping[str, int] = field(default_factory=dict)  # what was mended -> how often

    @property
    def n_compilations(self) -> int | None:
        """How many left code, of all ranks; None: none of the sources lists compilations."""
        if not self.compilations and any(b.about == "compilations" for b in self.lower_bound):
            return None
        return sum(c.has_code for c in self.compilations)
