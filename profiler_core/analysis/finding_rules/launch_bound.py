"""The device waits for the host: what the host does meanwhile, and what would help."""

from profiler_core.analysis.compilation.cost import is_compiled
from profiler_core.analysis.finding_rules.facts import GRAPH_MODES, Facts, Finding, Rule
from profiler_core.analysis.idle import CAUSE_NAMES
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.analysis.what_if.tried import Tried
from profiler_core.units import format_duration, format_share_of

_OUTSIDE = "what the host needs to work outside of graphs is not told by what it did"
_NOT_COMPILED = "what a compiled step leaves to the host shows only in a compiled run"
_UNKNOWN = "whether it was compiled, and with which settings, is not said by its files"
_UNKNOWN_SETTINGS = "with which settings it was compiled is not said by its files"
_ONCE = "what is set up once is no part of a step"
_LEAST_IDLE = 0.15  # of the step
# Launches per step that come with a replay: copies of inputs into the graph's own memory.
_A_REPLAYS_OWN = 2
# What the host did while the device waited, in words, by the waterfall's keys.
_DOING = {
    "idle_host_guards": CAUSE_NAMES["host_guards"],
    "idle_host_between_compiled_calls": "Python between compiled calls",
    "idle_host_compiling": "compiling and recording CUDA graphs",
    "idle_host_synchronisation": "waiting for the device and catching up",
    "idle_host_data_loader": "the data loader",
    "idle_host_setup": "reserving memory and setting up the device",
    "idle_host_launching": "launching",
    "idle_host_other": "other Python and C++",
}
# Where most of the host's time is one of these: why its cost is a bound, and what to do.
_NOT_LAUNCHING = {
    "idle_host_data_loader": (
        "how long the device would wait beside more workers is not told by what one loaded",
        "Load batches ahead of the step: num_workers of the DataLoader, persistent_workers and "
        "pin_memory, or cheaper transforms. CUDA graphs do not help a device that waits for data.",
    ),
    "idle_host_compiling": (
        _ONCE,
        "Profile later: what is compiled or recorded at first calls is no part of a step; "
        "torch.profiler.schedule has a warm-up for it. If it goes on, page Compilation says what "
        "recompiles.",
    ),
    "idle_host_setup": (
        _ONCE,
        "Profile later: what is set up once (context, modules, the allocator's first segments) is "
        "no part of a step; torch.profiler.schedule has a warm-up for it. If each step reserves "
        "memory, try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
    ),
}


def launch_bound(facts: Facts) -> Finding | None:
    """The device waits for the host for more than 15 % of the step, graphs or no graphs."""
    if not facts.on_gpu or facts.host_idle_ns < _LEAST_IDLE * facts.step_ns:
        return None
    n = facts.summary.per_step(facts.summary.n_launches or 0)
    share = format_share_of(facts.host_idle_ns, facts.step_ns)
    other = _other_than_launching(facts)
    prediction = (
        _prediction(facts) if other is None else facts.at_most(facts.host_idle_ns, other[0])
    )
    return Finding(
        key="launch_bound",
        change=facts.replayed if other is None else None,
        title="The device waits for the host.",
        evidence=f"{format_duration(facts.host_idle_ns)} of "
        f"{format_duration(facts.step_ns)} {facts.span} ({share}, {facts.clock}), {n:.0f} launches "
        f"{facts.span}{_graphs(facts)}; the host's time: {_what_for(facts)}.",
        advice=_advice(facts, prediction) if other is None else other[1],
        page="timeline",
        prediction=prediction,
    )


def _other_than_launching(facts: Facts) -> tuple[str, str] | None:
    """(Why its cost is a bound, what to do) where most of the host's time is no launching."""
    most = max(_DOING, key=lambda key: facts.shares.get(key, 0.0))
    if facts.shares.get(most, 0.0) <= facts.host_idle_ns / 2:
        return None
    return _NOT_LAUNCHING.get(most)


def _prediction(facts: Facts) -> Prediction:
    """By a run with graphs beside this one, else by the replay, else the idle time as a bound."""
    with_graphs = bool(facts.summary.n_graph_launches) or facts.mode in GRAPH_MODES
    tried = None if with_graphs else facts.tried_mode(*GRAPH_MODES)
    if tried is not None:
        return facts.measured_by(tried)
    if facts.is_compiled and facts.is_inductors and not with_graphs:
        return facts.gain(facts.replayed, facts.host_idle_ns)
    if with_graphs:
        return facts.at_most(facts.host_idle_ns, _OUTSIDE)
    return facts.at_most(facts.host_idle_ns, _why_a_bound(facts))


def _why_a_bound(facts: Facts) -> str:
    if is_compiled(facts.record) is not None:
        return _NOT_COMPILED
    has_generated = any(kernel.category.startswith("triton_") for kernel in facts.summary.kernels)
    return _UNKNOWN_SETTINGS if has_generated else _UNKNOWN


def _graphs(facts: Facts) -> str:
    n = facts.summary.per_step(facts.summary.n_graph_launches or 0)
    return f", {n:.0f} of them of a CUDA graph" if n else ""


def _what_for(facts: Facts) -> str:
    """The parts of the idle time that is the host's doing, the largest first: all of them."""
    parts = sorted(
        ((ns, _DOING[key]) for key, ns in facts.shares.items() if key in _DOING and ns > 0),
        reverse=True,
    )
    return ", ".join(f"{format_duration(ns)} {doing}" for ns, doing in parts)


def _advice(facts: Facts, prediction: Prediction) -> str:
    if not facts.is_inductors:
        return "Batch more work into a step, or let fewer parts of the model fall back to PyTorch."
    if facts.summary.n_graph_launches or facts.mode in GRAPH_MODES:
        return _with_graphs(facts)
    tried = facts.tried_mode(*GRAPH_MODES)
    if tried is not None:
        return _after_trying(facts, tried)
    report = facts.compilation
    if facts.is_compiled and report is not None and (report.breaks or report.log.limit_hits):
        return f"{_in_the_way(facts)} Then mode='reduce-overhead' replaces the launches by few."
    if prediction.expected_ns <= 0:
        return f"CUDA graphs would not help by themselves. {_in_the_way(facts)}"
    if facts.is_compiled:
        return "Compile with mode='reduce-overhead': CUDA graphs replace the launches by one."
    return "Compile with mode='reduce-overhead', or batch more work into a step."


def _after_trying(facts: Facts, tried: Tried) -> str:
    """A run with CUDA graphs is beside this one: what it says counts, not what is usual."""
    evidence = f"{tried.label} is beside this run, with {format_duration(tried.step_ns)} per step"
    if tried.step_ns < facts.step_ns:
        return f"Use mode='{tried.mode}': {evidence}."
    return f"CUDA graphs do not help here: {evidence}. {_in_the_way(facts)}"


def _with_graphs(facts: Facts) -> str:
    n_graphs = facts.summary.n_graph_launches or 0
    n_outside = facts.summary.per_step((facts.summary.n_launches or 0) - n_graphs)
    if n_graphs and n_outside <= _A_REPLAYS_OWN:
        return (
            "Batch more work into a step: it is one replay already, and what is left is what the "
            "host needs to call it at all."
        )
    if n_outside < 1:
        return _in_the_way(facts)
    return f"{n_outside:.0f} launches {facts.span} lie outside of CUDA graphs. {_in_the_way(facts)}"


def _in_the_way(facts: Facts) -> str:
    """What keeps the step from being one replay, as far as the logs say it."""
    report = facts.compilation
    if report is not None and (report.breaks or report.skips):
        return (
            "Remove the graph breaks first: each cuts the step into one more call with guards and "
            "launches of its own."
        )
    if any(kernel.category == "optimizer" for kernel in facts.summary.kernels):
        return (
            "Compile loss and optimizer step too (a function around all of the step), or use "
            "fused=True in the optimizer."
        )
    return "Compile a larger part of the step as one function, or batch more work into a step."


PLACE = 140
RULES: tuple[Rule, ...] = (launch_bound,)
