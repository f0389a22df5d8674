"""What collectives expose and slow, against plain JSON of real jobs and against made-up kernels."""

import pytest

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.ranks.exchanges import by_kind
from profiler_core.analysis.ranks.job import combine
from profiler_core.analysis.ranks.kernel_times import cost_beside, kernel_times, with_alone
from profiler_core.analysis.ranks.rank_summary import summarise_rank
from profiler_core.analysis.ranks.share_beside import is_cost_unknown, shares_beside
from profiler_core.analysis.ranks.waiting import RankCost, never_alone, slowed_kinds
from tests.analysis.ranks import plain_exchange
from tests.analysis.ranks.test_critical_path import _IDS, _SIDES, JOBS, critical, traces
from tests.builders import a_trace, kernel, launch, step

US = 1_000
DIGITS = 5  # ns: what the digits of a file's times are rounded to, call by call
ALL_REDUCE, ALL_GATHER = "ncclDevKernel_AllReduce_Sum_RING_LL", "ncclDevKernel_AllGather_RING_LL"


@pytest.fixture(params=_SIDES, ids=_IDS)
def side(request):
    return request.param[0]


def test_exposed_transfers_by_kind_are_those_of_plain_json(side):
    path = critical(side)
    kinds = by_kind(path.exchanges)
    plain = plain_exchange.exposed_transfers(traces(side), path.rank)
    assert {row.kind for row in kinds} == set(plain)
    for row in kinds:
        exposed, holding_up = plain[row.kind]
        assert row.exposed_ns == pytest.approx(exposed * 1e3, abs=DIGITS)
        assert row.holding_up_ns == pytest.approx(holding_up * 1e3, abs=DIGITS)
    assert sum(row.exposed_ns for row in kinds) == pytest.approx(path.exposed_transfer_ns, abs=1)
    assert sum(row.transfer_ns for row in kinds) == pytest.approx(path.work_ns["communication"])


def test_products_beside_collectives_take_as_much_longer_as_plain_json_says(side):
    path = critical(side)
    plain = {}
    for (name, grid, *_), us in plain_exchange.products_beside(traces(side), path.rank).items():
        text = f"{name} [{','.join(map(str, grid))}]"
        plain[text] = plain.get(text, 0.0) + us * 1e3
    slowed = {}
    for row in path.slowed_kernels:
        slowed[row.label] = slowed.get(row.label, 0.0) + row.slowed_ns
    large = {text: ns for text, ns in plain.items() if ns > 20 * US}
    assert large.keys() <= slowed.keys()
    for text, ns in large.items():
        assert slowed[text] == pytest.approx(ns, rel=0.01)


def test_sizes_that_share_a_name_are_told_apart():
    """FSDP2's addmm of 1024 and of 4096 inner features: one name, grid and block.

    128 blocks fit on 132 multiprocessors at once, and not on what a collective leaves of them.
    """
    path = critical(JOBS / "fsdp-sleep" / "eager")
    (large,) = (k for k in path.slowed_kernels if "[16,8,1]" in k.label)
    assert large.n_beside + large.n_alone == 6  # blocks
    assert large.alone_ns == pytest.approx(360 * US, rel=0.02)
    assert large.beside_ns == pytest.approx(611 * US, rel=0.02)


def test_shapes_tell_kernels_of_one_name_apart():
    """100 and 300 ns alone; then one of the shorter takes 200 beside a collective."""
    device = [
        kernel(0, 100, 1, external_id=1),
        kernel(200, 300, 2, external_id=2),
        kernel(600, 200, 3, external_id=3),
        kernel(600, 200, 4, name=ALL_REDUCE, stream=8),
    ]
    shapes = {1: "[[8,4],[4,8]]", 2: "[[8,16],[16,8]]", 3: "[[8,4],[4,8]]"}
    ops = [
        {"ts_ns": n, "dur_ns": 1, "name": "aten::mm", "external_id": n, "input_dims": dims}
        for n, dims in shapes.items()
    ]
    runtime = [launch(n, 1, n) for n in (1, 2, 3, 4)]
    for recorded, n_kinds, cost in ((ops, 2, (100, True, 0.5)), ([], 1, (200, False, 1.0))):
        trace = a_trace(device=device, ops=recorded, annotations=[step(1, 0, 900)], runtime=runtime)
        times = kernel_times(trace, categorise(trace), ["a step"])
        assert times["key"].n_unique() == times.height == n_kinds
        # Without shapes they are no kernel of one size: nothing is compared.
        (row,) = cost_beside([times]).select("call_ns", "is_compared", "share").iter_rows()
        assert row == cost


def test_a_kernel_that_another_rank_runs_alone_is_not_unknown():
    """Rank 0 runs it beside a collective alone; what it costs is known where rank 1 waits later."""
    ranks, both = [], []
    for number, begin in ((0, 0), (1, 200)):
        device = [kernel(0, 100, 1), kernel(begin, 50, 2, name=ALL_REDUCE, stream=8)]
        runtime = [launch(n, 1, n) for n in (1, 2)]
        trace = a_trace(device=device, annotations=[step(1, 0, 900)], runtime=runtime)
        ranks.append(kernel_times(trace, categorise(trace), ["a step"]))
        both.append(trace)
        assert (with_alone(categorise(trace))["is_alone"][0]) == bool(number)
    assert never_alone(cost_beside(ranks), 0) == frozenset()
    (key,) = ranks[0]["key"].to_list()
    costs = cost_beside(ranks[:1])
    assert never_alone(costs, 0) == {key}
    cost = RankCost(0, 0, (), slowed_kinds(costs, 0), never_alone(costs, 0))
    assert shares_beside(both[0], cost).tolist() == [0.5, 0]  # 50 of 100 ns, and the collective
    known = RankCost(0, 0, (), slowed_kinds(costs, 0))
    assert shares_beside(both[0], known).tolist() == [0, 0]
    assert (is_cost_unknown(0.11), is_cost_unknown(0.09)) == (True, False)


def a_rank(launched_at):
    """A product, an all-gather of 40 µs of which 10 are beside it, a product launched at a time."""
    spans = [("gemm", 0, 30, 0), (ALL_GATHER, 20, 40, 1), ("gemm", 60, 40, launched_at)]
    device = [kernel(ts * US, dur * US, n, name=name) for n, (name, ts, dur, _) in enumerate(spans)]
    runtime = [launch(at * US, 500, n) for n, (*_, at) in enumerate(spans)]
    return a_trace(device=device, runtime=runtime, annotations=[step(1, 0, 100 * US)])


@pytest.mark.parametrize(("launched_at", "holding_up"), [(2, 30), (45, 15), (58, 2), (59.5, 0.5)])
def test_a_transfer_holds_up_only_what_was_launched(launched_at, holding_up):
    ranks = [summarise_rank(a_rank(launched_at), number) for number in (0, 1)]
    (row,) = combine(ranks).critical.exchanges
    assert (row.kind, row.exposed_ns, row.transfer_ns) == ("all_gather", 30 * US, 40 * US)
    assert row.holding_up_ns == holding_up * US
    assert row.compute_before == pytest.approx(20 / 70)


def test_a_transfer_that_ends_in_a_kernel_holds_nothing_up():
    """The second product begins in the middle of the all-gather: it did not wait for it."""
    device = [
        kernel(0, 10 * US, 0, name="gemm"),
        kernel(10 * US, 50 * US, 1, name=ALL_GATHER),
        kernel(40 * US, 60 * US, 2, name="gemm"),
    ]
    runtime = [launch(n * US, 500, n) for n in range(3)]
    trace = a_trace(device=device, runtime=runtime, annotations=[step(1, 0, 100 * US)])
    (row,) = combine([summarise_rank(trace, number) for number in (0, 1)]).critical.exchanges
    assert (row.exposed_ns, row.holding_up_ns) == (30 * US, 0)


def test_two_transfers_at_once_count_an_instant_once():
    device = [
        kernel(0, 30 * US, 0, name=ALL_GATHER, stream=8),
        kernel(20 * US, 30 * US, 1, name=ALL_REDUCE, stream=9),
        kernel(50 * US, 50 * US, 2, name="gemm"),
    ]
    runtime = [launch(n * US, 500, n) for n in range(3)]
    trace = a_trace(device=device, runtime=runtime, annotations=[step(1, 0, 100 * US)])
    path = combine([summarise_rank(trace, number) for number in (0, 1)]).critical
    assert {row.kind: row.exposed_ns for row in path.exchanges} == {
        "all_gather": 30 * US, "all_reduce": 20 * US,
    }  # fmt: skip
    assert path.exposed_transfer_ns == 50 * US
