"""Jobs of many ranks: the mesh of their process groups, who behaves alike, which link is slow."""

from dataclasses import replace

import polars as pl
import pytest

from profiler_core.analysis.item import rank_item
from profiler_core.analysis.ranks.alike import MOST_GROUPS, alike_ranks, spelt
from profiler_core.analysis.ranks.links import links, slowest
from profiler_core.analysis.ranks.process_groups import (
    Dimension,
    ProcessGroup,
    dimensions,
    group_text,
)
from profiler_core.analysis.ranks.rank_row import RankRow
from profiler_core.figures.rank_blocks import RanksOfRun
from profiler_core.figures.ranks_waiting import MOST_STEPS, ranks_waiting
from profiler_core.figures.theme import LIGHT

N, TP, PP = 32, 4, 2  # tp neighbours, then pp, then dp


def groups_of(rank, names=("mesh_tp", "mesh_pp", "mesh_dp")):
    tp, block = rank // TP * TP, rank // (TP * PP) * TP * PP
    ranks = (
        range(tp, tp + TP),
        range(block + rank % TP, block + TP * PP, TP),
        range(rank - block, N, TP * PP),
    )
    own = [ProcessGroup("x", name, tuple(r)) for name, r in zip(names, ranks, strict=True)]
    return [ProcessGroup("0", "default_pg", tuple(range(N))), *own]


def mesh(names=("mesh_tp", "mesh_pp", "mesh_dp")):
    return dimensions({rank: groups_of(rank, names) for rank in range(N)}, range(N))


def test_coordinates_are_those_of_the_process_groups():
    tp, pp, dp = mesh()
    assert [(d.label, d.size) for d in (tp, pp, dp)] == [("tp", 4), ("pp", 2), ("dp", 4)]
    assert [d.at(13) for d in (tp, pp, dp)] == ["tp 1", "pp 1", "dp 1"]


def test_groups_without_a_name_are_called_by_the_distance_of_their_ranks():
    labels = [d.label for d in mesh(("undefined", "", "PIPELINE_MODEL_PARALLEL_GROUP"))]
    assert labels == ["of 4 neighbours", "of 2, every 4", "pp"]


def test_groups_that_share_a_rank_are_no_dimension_and_equal_ones_are_one():
    overlapping = {r: [ProcessGroup("x", "", (r, r + 1))] for r in range(4)}
    assert dimensions(overlapping, range(5)) == ()
    twice = {r: [ProcessGroup("a", "mesh_dp", (0, 1)), ProcessGroup("b", "", (0, 1))]
             for r in range(2)}  # fmt: skip
    assert [d.label for d in dimensions({**twice, 2: []}, range(3))] == ["dp"]


def test_a_group_is_spelt_in_short():
    assert group_text([0, 1]) == "0,1"
    assert group_text(range(0, 512, 8)) == "0 to 504 by 8"
    assert group_text(range(9)) == "0 to 8"
    assert group_text([*range(8), 9]) == "0,1,2,3,4,5,6,7,9"


def row(rank, compute=80.0, waited=0.0):
    return RankRow(
        rank=rank, step_ns=100.0, compute_ns=compute, communication_ns=10.0,
        exposed_communication_ns=5.0, exposed_copy_ns=0.0, idle_ns=15.0, waited_ns=waited,
        made_wait_ns=0.0, n_last=0.0, steps=(), waited_in_steps_ns=(int(waited), 2 * int(waited)),
    )  # fmt: skip


def test_ranks_that_behave_alike_are_named_by_what_they_alone_share():
    rows = [row(r, compute=88.0 if r // TP % PP else 80.0) for r in range(N)]
    rows[9] = row(9, waited=10.0)
    stage_1, stage_0, alone = alike_ranks(rows, mesh())
    assert (stage_1.where, len(stage_1.ranks), stage_1.compute_ns) == ("pp 1", 16, 88.0)
    assert (alone.where, alone.ranks, alone.waited_ns) == ("tp 1, pp 0, dp 1", (9,), 10.0)
    # Without rank 9 they are not all of pp 0.
    assert stage_0.where == "ranks 0 to 3, 8, 10 to 11, 16 to 19 and 4 others (in pp 0)"


def test_even_ranks_are_one_group_and_no_more_than_a_page_can_show():
    assert [g.where for g in alike_ranks([row(r, 80.0 + r % 2) for r in range(8)], ())] == [
        "all ranks"
    ]
    every = alike_ranks([row(r, 3.0 * r) for r in range(100)], ())
    assert len(every) == MOST_GROUPS
    assert sum(len(group.ranks) for group in every) == 100
    assert alike_ranks([], ()) == ()


def test_a_rank_in_words():
    assert spelt([5]) == "rank 5"
    assert spelt([0, 2, 4, 6, 8, 10]) == "ranks 0, 2, 4, 6 and 2 others"


def calls(times, size=4, n_bytes=1000):
    """One collective of each group: its fastest time, as `matched` has it on each of its ranks."""
    rows = [
        {"step": "s", "kind": "all_reduce", "group": group, "group_size": size, "number": 0,
         "bytes": n_bytes, "fastest_ns": ns, "is_complete": True}
        for group, ns in times.items()
        for _ in range(size)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_the_group_that_takes_longer_for_the_same_is_the_slowest_link():
    every = links(calls({"0,1,2,3": 100, "4,5,6,7": 150, "8,9,10,11": 100}))
    link = slowest(every)
    assert (link.group, link.slower) == ("4,5,6,7", 1.5)
    # nccl-tests: 1000 bytes in 150 ns, times 2 * 3 / 4.
    assert link.bus_bandwidth == pytest.approx(1000 / 150e-9 * 1.5)
    assert link.others_bandwidth == pytest.approx(1000 / 100e-9 * 1.5)


def test_what_no_other_group_does_is_no_slow_link():
    alone = pl.concat(
        [calls({"0,1,2,3": 900}, n_bytes=2000), calls({"0,1,2,3": 100, "4,5,6,7": 101})]
    )
    assert slowest(links(alone)) is None
    assert [link.n for link in links(alone)] == [1, 1]
    assert links(calls({"0,1,2,3": 100})) == ()


def test_the_heat_map_keeps_the_one_waiting_rank_of_neighbours_and_bounds_its_marks():
    rows = [row(rank) for rank in range(4096)]
    rows[2001] = row(2001, waited=7.0)
    opened = rank_item(0, 2001, 1)
    figure = ranks_waiting([RanksOfRun("eager", 0, rows)], LIGHT, opened)
    heat, cells = figure.data
    assert (len(heat.z), len(heat.z[0])) == (2, 256)
    assert max(heat.z[1]) == 1
    assert heat.z[0][heat.z[1].index(1)] == 0.5
    at = 256 + heat.z[1].index(1)
    assert cells.text[at].startswith("<b>rank 2001</b>, step 2")
    assert cells.customdata[at] == opened.text
    (frame,) = figure.layout.shapes
    assert (frame.x0, frame.x1) == (cells.x[at] - 8, cells.x[at] + 8)
    assert (frame.y0, frame.y1) == (0.5, 1.5)
    assert MOST_STEPS * 256 < 10_000
    assert Dimension("tp", 2, {0: 0}).at(1) is None


def test_the_heat_map_keeps_the_late_rank_among_neighbours_that_wait_for_it():
    rows = [row(rank, waited=9.0 + rank % 2 / 10) for rank in range(1024)]
    rows[683] = row(683)
    heat, cells = ranks_waiting([RanksOfRun("eager", 0, rows)], LIGHT).data
    assert [heat.z[step].count(0) for step in (0, 1)] == [1, 1]
    assert cells.text[256 + 683 // 4].startswith("<b>rank 683</b>, step 2")


def test_of_more_steps_than_fit_the_last_ones_are_drawn_under_their_own_numbers():
    rows = [
        replace(row(rank), waited_in_steps_ns=tuple(range(MOST_STEPS + 2))) for rank in range(3)
    ]
    heat, cells = ranks_waiting([RanksOfRun("eager", 1, rows)], LIGHT).data
    assert (heat.y[0], heat.y[-1]) == ("step 3", f"step {MOST_STEPS + 2}")
    assert cells.customdata[0] == "rank:1.0.2"
    assert cells.customdata[-1] == f"rank:1.2.{MOST_STEPS + 1}"
