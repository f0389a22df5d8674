"""What a rule may ask about a run, and what it answers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.compare import CandidateComparison
from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.analysis.counters.groups import MeasuredLedger
from profiler_core.analysis.device_peaks import DevicePeaks, peaks_of
from profiler_core.analysis.finding_rules.op_work import PRODUCTS, OpWork, op_work
from profiler_core.analysis.finding_rules.replayed_products import matched_products
from profiler_core.analysis.item import Item, group_item, kernel_item
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.ranks.job_ledger import JobLedger
from profiler_core.analysis.ranks.rank_compiling import RankCompiling
from profiler_core.analysis.step_time import Clock, step_time_ns
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.analysis.waterfall import step_shares
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.model.compilation import Frame
from profiler_core.model.inductor import InductorLog
from profiler_core.model.run import RunRecord
from profiler_core.model.trace import Trace
from profiler_core.units import format_share

# Below this share of a step nobody needs to act.
LEAST_SHARE = 0.05

Page = Literal[
    "overview", "kernels", "fusion", "timeline", "compilation", "memory", "telemetry", "ranks"
]
Weight = Literal["first of all", "first", "by time", "note"]
# Kernels of these categories compute matrix products and convolutions.
PRODUCT_CATEGORIES = ("gemm", "conv", "triton_template_gemm", "triton_template_conv")


@dataclass(frozen=True)
class Finding:
    """Something that stands out, with what it is about and what to do.

    at_stake_ns is an estimate of what a step could lose, or loses already; None: there is no
    number for it (a wrong result), or it does not recur each step (see one_off_ns).
    """

    key: str
    title: str  # one sentence
    evidence: str  # what was measured
    advice: str  # what to try, imperative
    page: Page  # where it shows
    at_stake_ns: float | None = None  # per step
    one_off_ns: float | None = None  # once, not each step
    weight: Weight = "by time"
    at_most: bool = False  # at_stake_ns is an upper bound: what is won lies between 0 and it
    # Findings that draw on the same part of the step are told as one: see `findings.told_once`.
    draws_on: Literal["", "products"] = ""
    alternatives: tuple["Finding", ...] = ()  # they draw on it too, and are not on top of it
    locations: tuple[Frame, ...] = ()  # lines of code that it names, as logged
    change: Change | None = None  # what would be different; None: nothing that makes steps faster
    prediction: Prediction | None = None  # what that saves; None: it cannot be told
    items: tuple[Item, ...] = ()  # what it is about, the most telling first: a link opens it
    filters: tuple[tuple[str, str], ...] = ()  # of the address of `page`, which then shows these

    @property
    def is_bound(self) -> bool:
        """Is there a number at stake, and is it an upper bound?"""
        return self.at_most and self.at_stake_ns is not None

    @property
    def expected_ns(self) -> float:
        """What ranks it: an estimate as it is, a bound as the middle of what it leaves open."""
        return (self.at_stake_ns or 0.0) * (0.5 if self.is_bound else 1.0)


@dataclass(frozen=True)
class Tried:
    """Another run of the same comparison that differs from this one in its mode alone."""

    label: str
    mode: str  # of torch.compile; "" for an eager run
    step_ns: float  # unprofiled


@dataclass(frozen=True)
class Facts:
    """One run, and where it is compared, the comparison. None: not there."""

    trace: Trace
    summary: Summary
    record: RunRecord
    comparison: CandidateComparison | None = None
    ledger: FusionLedger | None = None  # baseline to this run
    compilation: CompilationReport | None = None
    telemetry: RunTelemetry | None = None
    measured: MeasuredLedger | None = None  # hardware counters of the ledger's groups
    baseline: Trace | None = None  # of the comparison
    tried: tuple[Tried, ...] = ()
    code: InductorLog | None = None  # what Inductor generated for this run
    job_ledger: JobLedger | None = None  # the ledger's groups on every rank of a job
    rank_compiling: tuple[RankCompiling, ...] = ()  # of a job of ranks, by their own logs
    place: int = 0  # of this run in the comparison

    @property
    def n_steps(self) -> int:
        """What totals are divided by."""
        return self.summary.n_steps

    @property
    def on_gpu(self) -> bool:
        """Are there device events?"""
        return self.summary.device_kind == "gpu"

    @cached_property
    def clock(self) -> Clock:
        """Unprofiled where the run was timed."""
        return "profiled" if step_time_ns(self.record.measurement) is None else "unprofiled"

    @cached_property
    def step_ns(self) -> float:
        """Of a step, on `clock`."""
        timed = step_time_ns(self.record.measurement)
        return timed if timed is not None else self.summary.window_ns / self.n_steps

    @cached_property
    def shares(self) -> Mapping[str, float]:
        """Parts of a step by the waterfall's keys, ns."""
        return step_shares(self.summary, round(self.step_ns), self.clock)

    @cached_property
    def host_idle_ns(self) -> float:
        """Idle time of the device that is the host's doing, per step."""
        return sum(ns for key, ns in self.shares.items() if key.startswith("idle_host_"))

    @property
    def is_compiled(self) -> bool:
        """Was this run compiled, as far as its spec says?"""
        return bool(self.record.spec.get("compile"))

    @property
    def mode(self) -> str:
        """Mode of torch.compile; "" where none is known."""
        return str(self.record.spec.get("mode") or "")

    @property
    def is_inductors(self) -> bool:
        """May its mode be changed? Another backend takes none."""
        return str(self.record.spec.get("backend") or "inductor") == "inductor"

    @cached_property
    def peaks(self) -> DevicePeaks | None:
        """What the device can do at best."""
        return peaks_of(self.summary.device.name)

    @cached_property
    def is_replayed(self) -> bool:
        """Are its products without operators, as in the replay of a CUDA graph?"""
        return not self._own_products

    @cached_property
    def _own_products(self) -> tuple[OpWork, ...]:
        return op_work(self.trace, PRODUCTS)

    @cached_property
    def products(self) -> tuple[OpWork, ...]:
        """Matrix products and convolutions with their shapes, times as in the trace.

        Those of a replay have the shapes of the baseline's operators that they are matched with;
        () where nothing tells them.
        """
        if self._own_products or self.baseline is None or self.ledger is None:
            return self._own_products
        return matched_products(op_work(self.baseline, PRODUCTS), self.ledger, PRODUCT_CATEGORIES)

    def group_items(self, numbers: Iterable[int]) -> tuple[Item, ...]:
        """Groups of the ledger as evidence, by their places in it."""
        return tuple(group_item(self.place, number) for number in numbers)

    def source_of(self, kernel: str) -> str:
        """The generated source of a kernel; "" where there is none."""
        return self._sources.get(kernel, "")

    @cached_property
    def _sources(self) -> Mapping[str, str]:
        graphs = self.code.graphs if self.code is not None else ()
        return {name: kernel.source for graph in graphs for name, kernel in graph.kernels.items()}

    @cached_property
    def pace(self) -> float:
        """What a time of the trace is multiplied by to stand beside `step_ns`; at most 1.

        Below 1 where the device was busy for longer in a profiled step than a whole step takes
        unprofiled: its clocks differed between the two measurements.
        """
        busy_ns = self.summary.busy_ns / self.n_steps
        return min(1.0, self.step_ns / busy_ns) if busy_ns else 1.0

    def share_text(self, time_ns: float) -> str:
        """A time per step as a share of the step, at most 100 %: streams may overlap."""
        return format_share(min(1.0, time_ns / self.step_ns)) if self.step_ns else "–"

    def tried_mode(self, *modes: str) -> Tried | None:
        """The fastest run beside this one in one of these modes."""
        fitting = [run for run in self.tried if run.mode in modes]
        return min(fitting, key=lambda run: run.step_ns, default=None)

    @property
    def graphs_may_help(self) -> bool:
        """Could a mode with CUDA graphs be tried: it is not on, and no run beside this one lost."""
        if not self.is_inductors or self.summary.n_graph_launches or self.mode in GRAPH_MODES:
            return False
        tried = self.tried_mode(*GRAPH_MODES)
        return tried is None or tried.step_ns < self.step_ns

    def kernels(self, *categories: str) -> tuple[KernelTotal, ...]:
        """Kernels of some categories, longest first."""
        return tuple(kernel for kernel in self.summary.kernels if kernel.category in categories)

    def per_step(self, kernels: Iterable[KernelTotal]) -> float:
        """Their time per step on `clock`, ns."""
        return self.pace * sum(kernel.time_ns for kernel in kernels) / self.n_steps


def kernel_items(names: Iterable[str]) -> tuple[Item, ...]:
    """Kernels as evidence, by name, each once."""
    return tuple(map(kernel_item, dict.fromkeys(names)))


def kind_filter(categories: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The parameters of the page Kernels that show these categories alone."""
    return tuple(("kind", CATEGORIES[key]) for key in dict.fromkeys(categories))


# Modes of torch.compile that replay CUDA graphs.
GRAPH_MODES = ("reduce-overhead", "max-autotune")

Rule = Callable[[Facts], Finding | None]
