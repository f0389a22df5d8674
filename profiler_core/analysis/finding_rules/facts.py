"""What a rule may ask about a run, and what it answers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.categories import PRODUCT_CATEGORIES
from profiler_core.analysis.compare import CandidateComparison
from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.analysis.counters.groups import MeasuredLedger
from profiler_core.analysis.device_peaks import DevicePeaks, peaks_of
from profiler_core.analysis.finding_rules.op_work import OpWork, product_work
from profiler_core.analysis.finding_rules.replayed_products import matched_products
from profiler_core.analysis.item import Item, finding_item, group_item, kernel_item
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.ranks.job_ledger import JobLedger
from profiler_core.analysis.ranks.job_summary import LATE_WORK
from profiler_core.analysis.ranks.own_step import own_step_ns
from profiler_core.analysis.ranks.rank_compiling import RankCompiling
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.analysis.step_time import Clock, step_time_ns
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.analysis.waterfall import step_shares
from profiler_core.analysis.what_if.change import Change, Lever
from profiler_core.analysis.what_if.engine import HOST_SPREAD, WhatIf
from profiler_core.analysis.what_if.late_work import with_late_work
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.analysis.what_if.replay_inputs import replay_inputs
from profiler_core.analysis.what_if.scene import Three
from profiler_core.analysis.what_if.tried import Tried
from profiler_core.model.compilation import Frame
from profiler_core.model.inductor import InductorLog
from profiler_core.model.run import RunRecord
from profiler_core.model.trace import Trace
from profiler_core.units import format_duration, format_share

# Below this share of a step nobody needs to act.
LEAST_SHARE = 0.05
_OTHER_STAGES = "a pipeline's other stages gain by it too, and one stage is replayed"
_NO_LAUNCHES = "the launches of these kernels are not in the trace"
_HOST_SLOWED = "the replay waits for the host, which the profiler slows"
_NO_STEPS = "the trace marks no steps, so host and device cannot be replayed"

Page = Literal[
    "overview", "kernels", "fusion", "timeline", "compilation", "memory", "telemetry", "ranks"
]
Weight = Literal["first of all", "first", "by time", "note"]
# Kernels of these categories compute matrix products and convolutions.


@dataclass(frozen=True)
class Finding:
    """Something that stands out, with what it is about and what to do.

    Without a prediction there is no number for it (a wrong result), or it does not recur each step
    (see one_off_ns).
    """

    key: str
    title: str  # one sentence
    evidence: str  # what was measured
    advice: str  # what to try, imperative
    page: Page  # where it shows
    one_off_ns: float | None = None  # once, not each step
    is_one_off_at_least: bool = False  # a part of what it costs once is not known
    weight: Weight = "by time"
    # Findings that draw on the same part of the step are told as one: see `findings.told_once`.
    draws_on: Literal["", "products"] = ""
    alternatives: tuple["Finding", ...] = ()  # they draw on it too, and are not on top of it
    locations: tuple[Frame, ...] = ()  # lines of code that it names, as logged
    change: Change | None = None  # what would be different; None: nothing that makes steps faster
    # Settings that may do it, each a part where there are several, "" for a part that none does;
    # None: as its change says.
    settings: tuple[str, ...] | None = None
    prediction: Prediction | None = None  # what that saves; None: it cannot be told
    span: Span = PER_STEP  # what its amounts are of
    pace: float = 1.0  # its times over those of its evidence in the trace: `Facts.pace`
    items: tuple[Item, ...] = ()  # what it is about, the most telling first: a link opens it
    filters: tuple[tuple[str, str], ...] = ()  # of the address of `page`, which then shows these
    # What it adds, ns per step, once those are done that save more; None: not simulated.
    on_top_ns: float | None = None
    # Of that, what the device itself does less; the rest is idle time.
    on_device_ns: float | None = None

    @property
    def is_bound(self) -> bool:
        """Is there a number at stake, and is it an upper bound?"""
        return self.prediction is not None and self.prediction.is_bound

    @property
    def at_stake_ns(self) -> float | None:
        """What a step could gain: as expected, or at most where only that is known."""
        if self.prediction is None:
            return None
        return self.prediction.high_ns if self.is_bound else self.prediction.expected_ns

    @property
    def expected_ns(self) -> float:
        """What ranks it: what it adds, else an estimate, else the middle of what a bound leaves."""
        if self.on_top_ns is not None:
            return self.on_top_ns
        return self.prediction.expected_ns if self.prediction is not None else 0.0


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
    job: Job | None = None  # of ranks, this run one of them
    shares_beside: npt.NDArray[np.float64] | None = None  # of each device event; None: no job
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
        """Unprofiled where the run was timed and its trace marks the steps that were profiled.

        What all of a trace holds is no part of a step that was timed.
        """
        is_timed = step_time_ns(self.record.measurement) is not None
        return "unprofiled" if is_timed and self.summary.span == PER_STEP else "profiled"

    @cached_property
    def span(self) -> Span:
        """What the amounts of its findings are of, as those of its trace."""
        return self.summary.span

    @cached_property
    def step_ns(self) -> float:
        """Of a step, on `clock`."""
        timed = step_time_ns(self.record.measurement) if self.clock == "unprofiled" else None
        return timed if timed is not None else self.summary.profiled_step_ns

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
        return product_work(self.trace)

    @cached_property
    def products(self) -> tuple[OpWork, ...]:
        """Matrix products and convolutions with their shapes, times as in the trace.

        Those of a replay have the shapes of the baseline's operators that they are matched with;
        () where nothing tells them.
        """
        if self._own_products or self.baseline is None or self.ledger is None:
            return self._own_products
        return matched_products(product_work(self.baseline), self.ledger, PRODUCT_CATEGORIES)

    def evidence_alone(self, key: str) -> tuple[tuple[str, str], ...]:
        """The parameters of the page Kernels that show the kernels of this run's finding alone."""
        return (("finding", finding_item(self.place, key).key),)

    def group_items(self, numbers: Iterable[int]) -> tuple[Item, ...]:
        """Groups of the ledger as evidence, by their places in it, each once."""
        return tuple(group_item(self.place, number) for number in dict.fromkeys(numbers))

    def source_of(self, kernel: str) -> str:
        """The generated source of a kernel; "" where there is none."""
        return self._sources.get(kernel, "")

    @cached_property
    def _sources(self) -> Mapping[str, str]:
        graphs = self.code.graphs if self.code is not None else ()
        return {name: kernel.source for graph in graphs for name, kernel in graph.kernels.items()}

    @cached_property
    def pace(self) -> float:
        """What a time of the trace is multiplied by to stand beside `step_ns`; of a GPU at most 1.

        Below 1 where the device was busy for longer in a profiled step than a whole step takes
        unprofiled: its kernels took longer under the profiler.
        """
        if self.summary.device_kind == "cpu":
            return self.summary.unprofiled_scale(self.step_ns)
        busy_ns = self.summary.per_step(self.summary.busy_ns)
        return min(1.0, self.step_ns / busy_ns) if busy_ns else 1.0

    def share_text(self, time_ns: float, of_step: str = "") -> str:
        """A time per step as a share of the step, at most 100 %: streams may overlap.

        "58 % of 2.70 ms unprofiled" where the comparison has step times on the other clock alone.

        Args:
            time_ns: on `clock`.
            of_step: the words for the step that the comparison shows; "" where they go without.
        """
        shown = self.comparison.step_time.clock if self.comparison is not None else None
        if shown not in (None, self.clock):
            of_step = f" of {format_duration(self.step_ns)} {self.clock}"
        share = format_share(min(1.0, time_ns / self.step_ns)) if self.step_ns else "–"
        return share + of_step

    def tried_mode(self, *modes: str) -> Tried | None:
        """The fastest run beside this one in one of these modes."""
        fitting = [run for run in self.tried if run.mode in modes and not run.precision]
        return min(fitting, key=lambda run: run.step_ns, default=None)

    @property
    def graphs_may_help(self) -> bool:
        """Could a mode with CUDA graphs be tried: it is not on, and no run beside this one lost."""
        if not self.is_inductors or self.summary.n_graph_launches or self.mode in GRAPH_MODES:
            return False
        tried = self.tried_mode(*GRAPH_MODES)
        return tried is None or tried.step_ns < self.step_ns

    def tried_precision(self, word: str) -> Tried | None:
        """The fastest run beside this one in a precision with this word in its name."""
        fitting = [run for run in self.tried if word in run.precision]
        return min(fitting, key=lambda run: run.step_ns, default=None)

    @cached_property
    def replayed(self) -> Change:
        """Its compiled calls as replays of CUDA graphs, with the inputs that these copy."""
        return Change("graph_replay", inputs=replay_inputs(self.code, self.peaks))

    @cached_property
    def what_if(self) -> WhatIf:
        """This run, ready to be replayed under changes; of a job the rank that is shown."""
        if self.clock == "profiled":
            return WhatIf(self.trace, None)
        return WhatIf(self.trace, own_step_ns(self.summary.critical, self.step_ns))

    def gain(self, change: Change, otherwise_ns: float) -> Prediction:
        """What a change saves by the replay.

        That faster kernels gain nothing beside a host that the profiler slows is no answer.

        Args:
            change: what would be different.
            otherwise_ns: the bound where there is nothing to replay.
        """
        saved = self.what_if.saved(change)
        if saved is None:
            return self.at_most(otherwise_ns, _NO_STEPS)
        if not self.what_if.shows(change):
            return self.at_most(otherwise_ns, _NO_LAUNCHES)
        if self.summary.critical is not None and self.summary.critical.bubble_ns:
            return self.at_most(otherwise_ns, _OTHER_STAGES)
        is_slowed = self.clock == "profiled" and bool(change.kernels)
        if is_slowed and saved.expected_ns <= 0 < otherwise_ns:
            return self.at_most(otherwise_ns, _HOST_SLOWED)
        of_names = set(change.kernels)
        categories = {each.category for each in self.summary.kernels if each.name in of_names}
        late_ns = self.shares.get(LATE_WORK, 0.0)
        return with_late_work(saved, categories, self.summary.critical, late_ns)

    def at_most(self, most_ns: float, reason: str) -> Prediction:
        """A bound on `clock`, with the reason in a sentence why nothing better can be known."""
        return Prediction.at_most(most_ns, self.clock, reason)

    def measured_by(self, tried: Tried) -> Prediction:
        """What a run beside this one saves by the same lever."""
        low, saved, high = tried.saved_ns
        return Prediction(saved, low, high, "measured_by_sibling", self.clock, tried.label)

    def lost(self, ns: float) -> Prediction:
        """What the trace itself shows to be lost; sessions differ by `HOST_SPREAD` of a step."""
        spread = HOST_SPREAD * self.step_ns
        return Prediction(ns, max(0.0, ns - spread), ns + spread, "measured", self.clock)

    def faster(
        self,
        lever: Lever,
        kernels: Iterable[KernelTotal],
        saved_ns: Three,
        *,
        with_launches: bool = False,
    ) -> Change:
        """Kernels that need less time.

        Args:
            lever: what makes them faster.
            kernels: all of these names.
            saved_ns: of their time per step, ns on `clock`: at least, as expected, at most.
            with_launches: the host's work to launch them goes in the same proportion.
        """
        chosen = tuple(kernels)
        time_ns = self.per_step(chosen)
        least, usual, most = (min(1.0, ns / time_ns) if time_ns else 0.0 for ns in saved_ns)
        names = tuple(dict.fromkeys(kernel.name for kernel in chosen))
        return Change(lever, names, (least, usual, most), with_launches)

    def named(self, names: Iterable[str]) -> tuple[KernelTotal, ...]:
        """The kernels of these names."""
        wanted = set(names)
        return tuple(kernel for kernel in self.summary.kernels if kernel.name in wanted)

    def kernels(self, *categories: str) -> tuple[KernelTotal, ...]:
        """Kernels of some categories, longest first."""
        return tuple(kernel for kernel in self.summary.kernels if kernel.category in categories)

    def per_step(self, kernels: Iterable[KernelTotal]) -> float:
        """Their time per step on `clock`, ns."""
        return self.summary.per_step(self.pace * sum(kernel.time_ns for kernel in kernels))


def kernel_items(names: Iterable[str]) -> tuple[Item, ...]:
    """Kernels as evidence, by name, each once."""
    return tuple(map(kernel_item, dict.fromkeys(names)))


# Modes of torch.compile that replay CUDA graphs.
GRAPH_MODES = ("reduce-overhead", "max-autotune")

Rule = Callable[[Facts], Finding | None]
