"""Time that a job loses to its exchange: transfers that nothing hides, kernels that they slow."""

from profiler_core.analysis.finding_rules.facts import LEAST_SHARE, Facts, Finding, Rule
from profiler_core.analysis.finding_rules.op_work import PRODUCTS
from profiler_core.analysis.ledger.operators import operator
from profiler_core.analysis.ranks.collective_kinds import plural
from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.ranks.exchanges import ExchangeKind, by_kind
from profiler_core.analysis.what_if.change import Change, Lever
from profiler_core.model.inductor import CompiledGraph
from profiler_core.units import format_count, format_duration, format_share

# Of a kind's transfers: from this share on what follows each of them needs its result.
_IN_LINE = 0.5
_NOT_MOVED = "the trace shows one order of the work alone"
_SHARDED = ("all_gather", "reduce_scatter")  # FSDP's: DDP only reduces
_IN_GRAPH = "c10d_functional"  # of a graph's node that is a collective
_COMPUTES = frozenset(map(operator, PRODUCTS))
_BUCKETS = (
    "DDP: try other buckets (bucket_cap_mb=100): larger ones make fewer calls, of which the last "
    "alone is exposed but longer. Keep torch._dynamo.config.optimize_ddp on, which cuts the graph "
    "where buckets end."
)
_PREFETCH = (
    "FSDP2: ask for weights earlier (set_modules_to_forward_prefetch and "
    "set_modules_to_backward_prefetch; prefetch=2 in a variant), and compile each block by itself "
    "(target=blocks), which leaves its hooks where they are."
)
_PIPELINED = (
    "What follows each of them needs its result, as in tensor parallelism: only cutting both in "
    "parts overlaps them, as torch._inductor.config._micro_pipeline_tp does with symmetric memory; "
    "sequence parallelism moves less beside norms."
)
_AT_THE_END = (
    "They sum gradients inside of the compiled graph, which computes nothing with the sums and "
    "still waits for each: Inductor has put them behind the work that could hide them. DDP's own "
    "reducer sends each bucket as soon as it is full: leave torch._dynamo.config.optimize_ddp at "
    "True, and compare."
)
_REORDER = (
    " They are in the compiled graph: torch._inductor.config.reorder_for_compute_comm_overlap "
    "lets Inductor move them, bucket_all_gathers_fx, bucket_reduce_scatters_fx and "
    "bucket_all_reduces_fx join small ones."
)
_WIDE = " NCCL_MIN_CTAS=32 lets NCCL move them by more multiprocessors."


def exposed_transfer(facts: Facts) -> Finding | None:
    """Transfers that take time of the step although all ranks have come.

    What held a kernel up that was queued counts in full. What is exposed because the host was late
    shrinks with the idle time, from the profiled step to the unprofiled one.
    """
    path = facts.summary.critical
    if path is None:
        return None
    kinds = by_kind(path.exchanges)
    exposed_ns = facts.pace * sum(row.exposed_ns for row in kinds)
    holding_ns = facts.pace * sum(row.holding_up_ns for row in kinds)
    at_stake_ns = holding_ns + (exposed_ns - holding_ns) * _idle_kept(facts)
    if at_stake_ns < LEAST_SHARE * facts.step_ns:
        return None
    worst = max(kinds, key=lambda row: row.holding_up_ns)
    waiting = (
        "no waiting is in it"
        if all(row.is_complete for row in kinds if row.exposed_ns)
        else "what they wait for ranks that are not here is in it, and cannot be told apart"
    )
    lever, advice = _remedy(facts, worst)
    return Finding(
        key="exposed_transfer",
        change=Change(lever),
        title="Transfers between ranks are not hidden.",
        evidence=f"{format_duration(at_stake_ns)} {facts.span} ({facts.share_text(at_stake_ns)}) "
        f"are transfers on rank {path.rank} beside which nothing is computed; {waiting}. "
        f"Most are {plural(worst.label)} ({format_count(worst.n)} {facts.span}). As recorded "
        f"it is {format_duration(exposed_ns)}, and for {format_duration(holding_ns)} of that the "
        "kernel that follows was queued already; in the rest the host was late, which the profiler "
        "makes longer.",
        advice=advice + (_WIDE if facts.on_gpu else ""),
        page="ranks",
        prediction=facts.at_most(at_stake_ns, _NOT_MOVED),
    )


def _idle_kept(facts: Facts) -> float:
    """How much of the profiled step's idle time the unprofiled step has."""
    profiled_ns = facts.summary.per_step(facts.summary.idle_ns)
    kept_ns = sum(ns for key, ns in facts.shares.items() if key.startswith("idle"))
    return min(1.0, kept_ns / profiled_ns) if profiled_ns else 1.0


def _remedy(facts: Facts, worst: ExchangeKind) -> tuple[Lever, str]:
    """What may hide transfers of this kind: the lever, and the sentences about it."""
    graphs = facts.code.graphs if facts.code is not None else ()
    in_graph = [graph for graph in graphs if _has_collectives(graph)]
    lever: Lever = "hidden_transfers"
    if worst.kind in _SHARDED:
        lever, advice = "gathered_ahead", _PREFETCH
    elif worst.holding_up_ns < _IN_LINE * worst.transfer_ns:
        lever, advice = "other_buckets", _BUCKETS
    elif in_graph and not any(_computes_with_results(graph) for graph in in_graph):
        advice = _AT_THE_END
    else:
        advice = _PIPELINED
    return ("hidden_transfers", advice + _REORDER) if in_graph else (lever, advice)


def _has_collectives(graph: CompiledGraph) -> bool:
    return any(_IN_GRAPH in node.target for node in graph.post_nodes)


def _computes_with_results(graph: CompiledGraph) -> bool:
    """Whether a product takes what a collective of the graph brought, however far behind it.

    Activations of tensor parallelism go on to the next layer, gradients of DDP to the optimizer.
    """
    brought: set[str] = set()
    for node in graph.post_nodes:
        if _IN_GRAPH in node.target or brought.intersection(node.arguments):
            brought.add(node.name)
            if operator(node.target) in _COMPUTES:
                return True
    return False


def slowed_kernels(facts: Facts) -> Finding | None:
    """Kernels that share the device's multiprocessors with transfers."""
    path = facts.summary.critical
    if path is None:
        return None
    slowed_ns = facts.pace * path.slowed_ns
    if slowed_ns < LEAST_SHARE * facts.step_ns:
        return None
    is_sharded = any(row.kind in _SHARDED for row in path.exchanges)
    return Finding(
        key="slowed_by_transfers",
        change=Change("narrow_transfers" if is_sharded else "fewer_transfers"),
        title="Transfers slow the kernels beside them.",
        evidence=f"{format_duration(slowed_ns)} {facts.span} ({facts.share_text(slowed_ns)}) is "
        f"what kernels of rank {path.rank} take longer beside transfers, which hold "
        "multiprocessors."
        f"{_example(path)} Kernels that never run alone are not in it.",
        advice="Give the transfers fewer multiprocessors: NCCL_MAX_CTAS=8 (or 4) in the "
        "environment, which makes them slower and pays where they are hidden."
        + ("" if is_sharded else " DDP: larger buckets (bucket_cap_mb=1000) make fewer of them."),
        page="ranks",
        prediction=facts.at_most(slowed_ns, "narrower transfers take longer themselves"),
    )


def _example(path: CriticalPath) -> str:
    if not path.slowed_kernels:
        return ""
    worst = path.slowed_kernels[0]
    more = worst.beside_ns / worst.alone_ns - 1
    return (
        f" {worst.label.split('(')[0][:60]}: {format_duration(worst.alone_ns)} alone, "
        f"{format_duration(worst.beside_ns)} beside them ({format_share(more)} more)."
    )


PLACE = 130
RULES: tuple[Rule, ...] = (exposed_transfer, slowed_kernels)
