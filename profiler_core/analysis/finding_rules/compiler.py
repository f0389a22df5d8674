"""Findings about the compiler: breaks, skipped frames, recompiles, CUDA graphs, optimizer."""

import re
from collections.abc import Sequence
from dataclasses import replace

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.compilation.compiled_calls import lookup_spans
from profiler_core.analysis.compilation.graph_break_cost import BreakCost
from profiler_core.analysis.compilation.recompiles import RecompileGroup, recompile_groups
from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.analysis.compilation.skipped_frames import LostGain
from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule, kernel_items
from profiler_core.analysis.finding_rules.op_work import op_work
from profiler_core.analysis.item import Item, break_item, skip_item
from profiler_core.analysis.memory.frames import place
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.analysis.wording.breaks import FOR_NEW_INPUTS, limited_name
from profiler_core.analysis.wording.compilation import unpriced_clause
from profiler_core.analysis.wording.sentence import capitalised
from profiler_core.model.compilation import Frame
from profiler_core.units import format_count, format_duration

# torch's own, and apex's and DeepSpeed's kernels over many tensors (csrc/multi_tensor_adam.cu, …).
_FUSED = re.compile(
    r"fused_adam|fused_sgd|_fused_|FusedAdam|FusedSgd"
    r"|(?:Adam|Adagrad|Lamb|Lion|NovoGrad|SGD)\w*Functor",
    re.IGNORECASE,
)
# Adam in one kernel reads parameter, gradient and both moments, and writes all but the gradient.
_FUSED_ADAM_MOVES = 7
# x + value · a / b: three read, one written. Each Adam has it once, over all parameters.
_ADAM_UPDATE = ("aten::_foreach_addcdiv_", "aten::addcdiv_")
_UPDATE_MOVES = 4
_LEAST_GUARDS = 0.05  # of a step
_NOT_COMPILED = "no run of this comparison has these functions compiled"


def frame_skips(facts: Facts) -> Finding | None:
    """A frame that Dynamo gave up runs eager, and everything it calls may too."""
    report = facts.compilation
    if report is None or not report.skips:
        return None
    skip = report.skips[0]
    location = f" ({place(skip.place.file, skip.place.line)})" if skip.place else ""
    lost = report.lost
    loss = "" if lost is None else f" {lost.sentence}"
    reason = skip.event.reason.rstrip(".")
    n = report.eager_functions.skipped
    return Finding(
        key="frame_skipped",
        change=Change("no_skips"),
        title=f"{n} functions run eager: their frames were skipped."
        if n > 1
        else "1 function runs eager: its frame was skipped.",
        evidence=f"{skip.event.function or 'A function'}{location}: {reason}.{loss}",
        advice=skip.change,
        prediction=_of_skipped(facts, lost),
        page="compilation",
        weight="first" if report.eager_only else "by time",
        items=tuple(skip_item(facts.place, number) for number in range(len(report.skips))),
        locations=tuple(dict.fromkeys(each.place for each in report.skips if each.place)),
    )


def _of_skipped(facts: Facts, lost: LostGain | None) -> Prediction | None:
    if lost is None or not lost.ns:
        return None
    if lost.source == "estimated":
        return facts.at_most(lost.ns, _NOT_COMPILED)
    return facts.lost(lost.ns)


def graph_breaks(facts: Facts) -> Finding | None:
    """Breaks, with what all of them together cost on the unprofiled clock."""
    report = facts.compilation
    if report is None or not report.breaks:
        return None
    first = report.breaks[0]
    prediction, basis = _break_cost(report.break_cost)
    further = f", and {len(report.breaks) - 1} more" if len(report.breaks) > 1 else ""
    return Finding(
        key="graph_breaks",
        change=Change("no_breaks"),
        settings=tuple(dict.fromkeys(each.cause.setting for each in report.breaks)),
        title=f"{len(report.breaks)} graph break{'s' if len(report.breaks) > 1 else ''} in a step.",
        evidence=f"{place(first.place.file, first.place.line)}: "
        f"{first.event.reason.rstrip('.')}{further}.{basis}{_unpriced(report)}",
        advice=first.advice,
        page="compilation",
        prediction=prediction,
        locations=tuple(dict.fromkeys(each.place for each in report.breaks)),
        items=_break_items(facts, report),
    )


def _unpriced(report: CompilationReport) -> str:
    """That the stake is without some breaks, as a sentence; "" where it is of all."""
    n = report.n_unpriced_breaks
    if not n or report.break_cost is None or not report.break_cost.cost_ns:
        return ""
    return f" {capitalised(unpriced_clause(n))}."


def heavy_guards(facts: Facts) -> Finding | None:
    """What Dynamo checks before each call of compiled code, where it is worth 5 % of the step."""
    scene = facts.what_if.scene
    if not facts.is_compiled or scene is None:
        return None
    lookups = lookup_spans(facts.trace, scene.sample)
    spent_ns = sum(ends - begins for begins, ends in lookups) / max(1, scene.two.n_steps)
    if spent_ns < _LEAST_GUARDS * facts.step_ns:
        return None
    change = Change("lighter_guards")
    prediction = facts.gain(change, spent_ns)
    if prediction.expected_ns < _LEAST_GUARDS * facts.step_ns:
        return None
    n = len(lookups) / max(1, scene.two.n_steps)
    return Finding(
        key="heavy_guards",
        change=change,
        title=f"Guards cost {facts.share_text(prediction.expected_ns, ' of the step')}.",
        evidence=f"{n:.0f} lookup{'' if round(n) == 1 else 's'} of compiled code {facts.span}, "
        f"{format_duration(spent_ns)} of the host (profiled clock); each looks at every module, "
        "parameter and setting that the code was compiled for.",
        advice="Compile fewer, larger regions, and keep settings out of dicts and lists of the "
        "modules; where nothing changes after the warm-up, call "
        "torch.compiler.set_stance(skip_guard_eval_unsafe=True).",
        page="compilation",
        prediction=prediction,
    )


def _break_items(facts: Facts, report: CompilationReport) -> tuple[Item, ...]:
    places = (report.place_of(each) for each in report.breaks)
    return tuple(break_item(facts.place, position) for position in places if position is not None)


def _break_cost(cost: BreakCost | None) -> tuple[Prediction | None, str]:
    """(What removing all breaks saves, and a sentence on it); None: it cannot be told."""
    if cost is None:
        return None, ""
    if not cost.n:
        return None, (
            " No compiled call follows in the profiled steps: what comes after runs eager, so what "
            "it costs cannot be told."
        )
    saved = Prediction(cost.cost_ns, *cost.range_ns, "simulated", cost.clock)
    if not cost.cost_ns:
        return saved, ""
    return saved, (
        " Without the host's work for the breaks; what waits for a value or a shape still waits."
    )


def recompiles(facts: Facts) -> Finding | None:
    """Functions that were compiled again."""
    report = facts.compilation
    if report is None or not report.recompiles:
        return None
    n = len(report.recompiles)
    groups = recompile_groups(report.recompiles)
    return Finding(
        key="recompiles",
        title=f"{n} recompilation{'s' if n > 1 else ''}.",
        evidence=f"{_recompiled(groups[0], n)}{_limit(report)}{_untimed(report)}",
        advice=_each_cause(groups),
        page="compilation",
        one_off_ns=report.recompile_ns,
        is_one_off_at_least=report.n_untimed_recompiles > 0,
        weight="first" if report.limited else "by time",
        locations=tuple(dict.fromkeys(Frame(g.file, g.line, g.function) for g in groups)),
    )


def _recompiled(group: RecompileGroup, n: int) -> str:
    """Of the dearest function and cause: where, which guards, how many of all, and how long."""
    guards = group.guards
    guard = guards[0] if guards else "no reason logged"
    further = f" and {format_count(len(guards) - 1)} more" if len(guards) > 1 else ""
    took = "" if group.cost_ns is None else f", {format_duration(group.cost_ns)}"
    share = f" ({len(group.recompiles)} of {n}{took})" if len(group.recompiles) < n else ""
    return f"{group.function} ({place(group.file, group.line)}): {guard}{further}{share}."


def _limit(report: CompilationReport) -> str:
    """Which function met the recompile limit, and at which guard; "" where none did."""
    if not report.limited:
        return ""
    first, *others = report.limited
    last = f", last at {first.last_reason}" if first.last_reason else ""
    more = f", and {format_count(len(others))} more" if others else ""
    runs = "these run eager for new inputs" if others else f"it {FOR_NEW_INPUTS}"
    return f" The recompile limit was reached by {limited_name(first)}{last}{more}: {runs}."


def _untimed(report: CompilationReport) -> str:
    """That the time is a lower bound where the log does not time all recompilations; else ""."""
    n = report.n_untimed_recompiles
    if not n:
        return ""
    untimed = "one" if n == 1 else format_count(n)
    least = format_duration(report.recompile_ns, "down")
    return f" At least {least}: how long {untimed} of them took is not known."


def _each_cause(groups: Sequence[RecompileGroup]) -> str:
    """What to change, for each cause once: an attribute is no shape, and cannot be marked so."""
    return " ".join(dict.fromkeys(group.cause.change for group in groups))


def cudagraphs_skipped(facts: Facts) -> Finding | None:
    """CUDA graphs were asked for and not captured, wholly or in part, and why.

    A recent torch splits a graph at what cannot be captured ("partition") where an older one
    gave up the whole graph ("skip").
    """
    report = facts.compilation
    if report is None:
        return None
    of_kind = {
        kind: [event for event, _ in report.cudagraphs if event.kind == kind]
        for kind in ("skip", "partition")
    }
    kind, left_out = next(((k, events) for k, events in of_kind.items() if events), ("", []))
    if not left_out:
        return None
    change, prediction = _replayed(facts, report, kind)
    further = f", and {len(left_out) - 1} more." if len(left_out) > 1 else "."
    first = left_out[0]
    location = f" ({place(first.file, first.line)})" if first.file and first.line else ""
    return Finding(
        key="cudagraphs_skipped",
        change=change,
        title="CUDA graphs were skipped."
        if kind == "skip"
        else "Part of the compiled code runs outside CUDA graphs.",
        evidence=f"PyTorch's reason: {first.reason}{location}{further}",
        advice="Remove the reason (CPU tensors in the graph, mutated inputs, dynamic shapes), or "
        "compile that part with mode='default'."
        if facts.on_gpu
        else "CUDA graphs need a GPU, and this run has none: compare it with mode='default', and "
        "ask again on the machine that the model will run on.",
        page="compilation",
        prediction=prediction,
        weight="by time" if facts.on_gpu else "note",
        locations=tuple(
            dict.fromkeys(
                Frame(event.file, event.line, "")
                for event in left_out
                if event.file and event.line is not None
            )
        ),
    )


def _replayed(
    facts: Facts, report: CompilationReport, kind: str
) -> tuple[Change, Prediction | None]:
    """A replay in place of the calls that events of this kind leave out; None: they did not run."""
    stakes = report.coverage.stakes if report.coverage else ()
    at_stake = [s for s in stakes if s.event.kind == kind and s.at_stake_ns]
    ids: list[str] = []
    if all(s.event.compile_ids for s in at_stake):
        ids = [compile_id for s in at_stake for compile_id in s.event.compile_ids]
    change = replace(facts.replayed, compile_ids=tuple(dict.fromkeys(ids)))
    return change, facts.what_if.saved(change) if at_stake else None


def unfused_optimizer(facts: Facts) -> Finding | None:
    """The optimizer in many kernels over all parameters, each of them a pass through memory."""
    if not facts.on_gpu:
        return None
    kernels = facts.kernels("optimizer")
    time = facts.per_step(kernels)
    n = facts.summary.per_step(sum(kernel.n for kernel in kernels))
    if (
        time < 0.02 * facts.step_ns
        or n < 4
        or any(_FUSED.search(kernel.name) for kernel in kernels)
    ):
        return None
    saved_ns, basis = _one_pass(facts, time)
    change = Change("fused_optimizer")
    if saved_ns is not None:
        change = facts.faster(
            "fused_optimizer", kernels, (0.7 * saved_ns, saved_ns, 1.1 * saved_ns),
            with_launches=True,
        )  # fmt: skip
    return Finding(
        key="unfused_optimizer",
        pace=facts.pace,
        change=change,
        title="The optimizer passes over the parameters many times.",
        evidence=f"{n:.0f} kernels, {format_duration(time)} {facts.span} "
        f"({facts.share_text(time)}). {basis}",
        advice="Use fused=True in the optimizer, or compile its step.",
        page="fusion",
        prediction=None if saved_ns is None else facts.gain(change, saved_ns),
        items=kernel_items(kernel.name for kernel in kernels),
        filters=(("kernels", CATEGORIES["optimizer"]),),
    )


def _one_pass(facts: Facts, time_ns: float) -> tuple[float | None, str]:
    """What one pass over parameters and moments would save, by the pace of Adam's own update."""
    updates = op_work(facts.trace, _ADAM_UPDATE)
    update = facts.summary.per_step(facts.pace * sum(op.time_ns for op in updates))
    if update == 0:
        return None, "What one pass would save is not known: it is no Adam, or shows no operators."
    fused = update / _UPDATE_MOVES * _FUSED_ADAM_MOVES
    saved = max(0.0, time_ns - fused)
    return saved, (
        f"addcdiv alone moves {_UPDATE_MOVES} values a parameter in {format_duration(update)}; one "
        f"pass of {_FUSED_ADAM_MOVES} at that pace takes {format_duration(fused)} and saves "
        f"{format_duration(saved)}."
    )


PLACE = 160
RULES: tuple[Rule, ...] = (
    frame_skips,
    graph_breaks,
    heavy_guards,
    recompiles,
    cudagraphs_skipped,
    unfused_optimizer,
)
