"""Two made-up ranks whose every number can be told by hand."""

from dataclasses import replace

import polars as pl
import pytest

from profiler_core.analysis.ranks.awaited import waiting_groups
from profiler_core.analysis.ranks.collective_kinds import bus_factor, kind_of
from profiler_core.analysis.ranks.job import combine
from profiler_core.analysis.ranks.matching import matched
from profiler_core.analysis.ranks.rank_summary import summarise_rank
from profiler_core.analysis.wording.ranks import evidence, headline
from profiler_core.analysis.wording.sentence import plain
from tests.builders import a_trace, kernel, memcpy, op
from tests.builders import step as a_step

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def a_rank(rank, *, compute, wait, world=2, steps=2, described=True):
    """Each step of 100 ns: compute from 10 on, an all-reduce of 20 + wait on another stream.

    The collective starts 10 ns before compute ends; 5 ns of copy follow it.
    """
    each = [(compute, wait)] * steps
    return a_rank_of(rank, each, world=world, described=described)


def a_rank_of(rank, each, *, world=2, described=True):
    """As `a_rank`, with (compute, wait) of each step."""
    device, runtime, annotations, records = [], [], [], []
    for step, (compute, wait) in enumerate(each):
        at = step * 100
        annotations.append({"ts_ns": at, "dur_ns": 99, "name": f"ProfilerStep#{step}", "pid": 1,
                            "tid": 1})  # fmt: skip
        start = at + 10 + compute - 10
        end = start + 20 + wait
        calls = [("k", at + 10, compute, 7), (NCCL, start, 20 + wait, 13), ("copy", end, 5, 7)]
        for number, (name, ts, dur, stream) in enumerate(calls):
            correlation = 10 * step + number + 1
            make = memcpy if name == "copy" else kernel
            device.append(make(ts, dur, correlation, name=name, stream=stream))
            runtime.append({"ts_ns": at + 1 + number, "dur_ns": 1, "cat": "cuda_runtime",
                            "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                            "correlation": correlation})  # fmt: skip
        records.append({"ts_ns": at + 2, "dur_ns": 1, "pid": 1, "tid": 1,
                        "collective": "allreduce", "dtype": "Float", "in_elements": 100,
                        "out_elements": 100, "group_size": world, "group_name": "0",
                        "group_ranks": str(list(range(world)))})  # fmt: skip
    info = {"distributedInfo": {"rank": rank, "world_size": world, "backend": "nccl"}}
    return summarise_rank(
        a_trace(device=device, runtime=runtime, annotations=annotations,
                collectives=records if described else [], metadata=info),
        rank,
    )  # fmt: skip


def test_a_step_is_divided_without_rest():
    (step, _) = a_rank(0, compute=40, wait=20).steps
    # compute 10 to 50, all-reduce 40 to 80, copy 80 to 85; the step lasts 99.
    assert (step.compute_ns, step.communication_ns) == (40, 40)
    assert (step.exposed_communication_ns, step.exposed_copy_ns) == (30, 5)
    assert step.overlap_ns == 10
    parts = step.compute_ns + step.exposed_communication_ns + step.exposed_copy_ns + step.idle_ns
    assert parts == step.dur_ns


def test_the_rank_that_waits_least_is_the_straggler():
    job = combine([a_rank(1, compute=60, wait=0), a_rank(0, compute=40, wait=20)])
    assert [row.rank for row in job.ranks] == [0, 1]
    assert (job.ranks[0].waited_ns, job.ranks[1].waited_ns) == (20, 0)
    assert (job.ranks[0].made_wait_ns, job.ranks[1].made_wait_ns) == (0, 20)
    assert job.ranks[1].n_last == 1
    assert job.straggler.rank == 1
    assert job.straggler.share == 1
    assert job.straggler.compute_more == pytest.approx(0.5)
    assert job.compute_imbalance == pytest.approx(60 / 50 - 1)
    assert job.skew_ns == 20
    assert job.wait_share == pytest.approx(20 / sum(row.step_ns for row in job.ranks))


def test_even_ranks_have_no_straggler():
    job = combine([a_rank(0, compute=40, wait=0), a_rank(1, compute=40, wait=0)])
    assert job.straggler is None
    assert job.wait_share == 0


def test_a_rank_that_few_of_many_wait_for_is_named_all_the_same():
    """Pairs of 64 ranks: the time of the one that waits is 0.3 % of all ranks' time."""
    ranks = []
    for rank in range(64):
        waits = rank == 62
        own = a_rank(rank, compute=40 if waits else 60, wait=20 if waits else 0, world=64)
        pair = pl.lit(f"{rank // 2 * 2},{rank // 2 * 2 + 1}").alias("group")
        ranks.append(replace(own, calls=own.calls.with_columns(pair, group_size=2)))
    job = combine(ranks)
    assert (job.straggler.rank, job.straggler.n_waiters) == (63, 1)
    assert plain(headline(job)) == "A rank waits for rank 63"
    assert evidence(job).startswith("Rank 62 waits 20 ns of the step")
    assert job.ranks[62].waited_in_steps_ns == (20, 20)


def test_two_ranks_that_are_late_in_turns_have_no_straggler():
    late, early = (60, 0), (40, 20)
    turns = combine([a_rank_of(0, [late, early] * 2 + [early]),
                     a_rank_of(1, [early, late] * 2 + [late])])  # fmt: skip
    assert [row.made_wait_ns for row in turns.ranks] == [8, 12]
    assert turns.straggler is None
    mostly = combine([a_rank_of(0, [late] + [early] * 4), a_rank_of(1, [early] + [late] * 4)])
    assert (mostly.straggler.rank, mostly.straggler.share) == (1, 0.8)


def test_bandwidth_is_that_of_the_fastest_rank_times_the_factor():
    (row,) = combine([a_rank(0, compute=40, wait=20), a_rank(1, compute=60, wait=0)]).collectives
    assert (row.kind, row.group_size, row.n, row.bytes) == ("all_reduce", 2, 1, 400)
    assert (row.time_ns, row.transfer_ns, row.wait_ns) == (30, 20, 10)
    assert row.bus_bandwidth == pytest.approx(400 / 20e-9)  # the factor of two ranks is 1


def test_without_records_the_kernel_says_the_kind_and_the_bytes_are_unknown():
    job = combine(
        [a_rank(r, compute=40 + 20 * r, wait=20 - 20 * r, described=False) for r in (0, 1)]
    )
    (row,) = job.collectives
    assert (row.kind, row.bytes, row.bus_bandwidth) == ("all_reduce", None, None)
    assert job.straggler.rank == 1


def test_a_missing_rank_is_named_and_nobody_is_blamed():
    job = combine([a_rank(0, compute=40, wait=20)])
    assert job.missing == (1,)
    assert job.straggler is None
    assert any("1 of 2 ranks" in note for note in job.notes)


def test_with_one_rank_of_three_missing_the_others_are_told_and_no_bandwidth():
    job = combine([a_rank(r, compute=40 + 20 * r, wait=20 - 20 * r, world=3) for r in (0, 1)])
    assert job.missing == (2,)
    assert job.straggler.rank == 1
    assert job.ranks[0].waited_ns == 20
    (row,) = job.collectives
    assert (row.transfer_ns, row.bus_bandwidth, row.wait_ns) == (None, None, 10)
    (note,) = job.notes
    assert note.startswith("2 of 3 ranks can be shown; rank 2 is missing.")


def test_a_gap_in_the_numbers_is_a_missing_rank_where_no_file_says_how_many():
    found = [a_rank(r, compute=40, wait=0) for r in (0, 2)]
    job = combine([one.__class__(**{**vars(one), "world_size": None}) for one in found])
    assert job.missing == (1,)
    assert any("rank 1 is missing" in note for note in job.notes)


def test_a_damaged_file_is_named():
    rank = a_rank(0, compute=40, wait=0)
    mended = rank.__class__(**{**vars(rank), "mended": ("file cut short",)})
    notes = combine([mended, a_rank(1, compute=40, wait=0)]).notes
    assert any("Rank 0" in note and "file cut short" in note for note in notes)


def test_ranks_without_steps_say_what_their_one_step_is():
    """The whole of each trace stood there as a step without a word."""
    trace = a_trace(device=[kernel(10, 40, 1), kernel(50, 30, 2, name=NCCL)], metadata={})
    (note, *_) = combine([summarise_rank(trace, 0), summarise_rank(trace, 1)]).notes
    assert note.startswith("No steps are marked in these traces: each counts as one step here")
    marked = combine([a_rank(0, compute=40, wait=0), a_rank(1, compute=40, wait=0)])
    assert not any("No steps" in each for each in marked.notes)


def test_ranks_without_a_common_step_are_said_so():
    other = a_rank(1, compute=40, wait=0, steps=1)
    renamed = other.__class__(**{**vars(other), "steps": (), "calls": other.calls.clear()})
    job = combine([a_rank(0, compute=40, wait=0), renamed])
    assert job.n_steps == 0
    assert any("no step in common" in note for note in job.notes)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("_allgather_base", "all_gather"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("reduce_scatter_tensor_coalesced", "reduce_scatter"),
        ("allreduce", "all_reduce"),
        ("all_to_allv", "all_to_all"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send_recv"),
        ("ncclDevKernel_Broadcast_RING_LL(…)", "broadcast"),
        ("send", "send"),
        ("gloo:something", "other"),
    ],
)
def test_kinds(name, kind):
    assert kind_of(name) == kind


def test_bus_factors_of_nccl_tests():
    assert bus_factor("all_reduce", 8) == pytest.approx(1.75)
    assert bus_factor("all_gather", 8) == pytest.approx(0.875)
    assert bus_factor("broadcast", 8) == 1
    assert bus_factor("barrier", 8) is None
    assert bus_factor("all_reduce", 1) is None


def a_cpu_rank(rank, *, compute, wait, with_gloo=True):
    """Each step of 100 ns: an operator from 10 on, then an all-reduce of 20 + wait by gloo."""
    annotations, ops = [], []
    for number in range(2):
        at = number * 100
        annotations.append(a_step(number, at, 99))
        ops.append(op(at + 10, compute, "aten::addmm"))
        ops.append(op(at + 10 + compute, 5, "c10d::allreduce_"))
        if with_gloo:
            annotations.append(op(at + 12 + compute, 20 + wait, "gloo:all_reduce", tid=77 + rank))
    info = {"distributedInfo": {"rank": rank, "world_size": 2, "backend": "gloo"}}
    return summarise_rank(a_trace(ops=ops, annotations=annotations, metadata=info), rank)


def test_ranks_on_cpus_are_told_by_the_collectives_of_gloos_threads():
    job = combine([a_cpu_rank(0, compute=20, wait=20), a_cpu_rank(1, compute=40, wait=0)])
    assert job.straggler.rank == 1
    assert [row.waited_ns for row in job.ranks] == [20, 0]
    assert [row.compute_ns for row in job.ranks] == [20, 40]
    # From the operator that starts the all-reduce to the end of its range, 2 ns later.
    assert [row.communication_ns for row in job.ranks] == [42, 22]
    (collective,) = job.collectives
    assert (collective.kind, collective.n, collective.bus_bandwidth) == ("all_reduce", 1, None)
    assert "Rank 1's compute takes 20 ns longer" in evidence(job)
    assert any("ran on CPUs" in note for note in job.notes)


def a_cpu_rank_with_two_under_way(rank, *, late):
    """Steps of 100 ns: both all-reduces begin at 10 and `late` + 10, on threads of their own.

    Until 60 and 70 they wait for the other rank, which begins them then.
    """
    annotations, ops = [], []
    for number in range(2):
        at = number * 100
        annotations.append(a_step(number, at, 99))
        ops.append(op(at, 5, "aten::addmm"))
        for bucket in (0, 1):
            begin = at + 10 + 10 * bucket + late
            end = at + 65 + 10 * bucket
            annotations.append(op(begin, end - begin, "gloo:all_reduce", tid=77 + bucket))
    info = {"distributedInfo": {"rank": rank, "world_size": 2, "backend": "gloo"}}
    return summarise_rank(a_trace(ops=ops, annotations=annotations, metadata=info), rank)


def test_a_rank_waits_once_while_two_collectives_are_under_way():
    """Gloo's threads waited 100 ns of a step of 99, together."""
    ranks = [a_cpu_rank_with_two_under_way(0, late=0), a_cpu_rank_with_two_under_way(1, late=50)]
    job = combine(ranks)
    assert [row.waited_ns for row in job.ranks] == [60, 0]  # from 10 to 60 and from 20 to 70
    assert [row.made_wait_ns for row in job.ranks] == [0, 60]
    assert job.ranks[0].waited_in_steps_ns == (60, 60)
    assert job.wait_share == pytest.approx(2 * 60 / (2 * (100 + 99)))
    assert job.straggler.rank == 1
    (group,) = waiting_groups(matched(ranks, ["ProfilerStep#0", "ProfilerStep#1"]), 2)
    assert group.made_ns == {0: 0, 1: 60}


def test_a_cpu_trace_without_collectives_has_nothing_to_tell():
    alone = a_cpu_rank(0, compute=20, wait=20, with_gloo=False)
    assert alone.problem == "no GPU events in this trace"


def test_a_rank_that_lost_its_gpu_events_is_left_out_beside_ranks_that_have_them():
    job = combine([a_rank(0, compute=40, wait=0), a_cpu_rank(1, compute=40, wait=0)])
    assert [row.rank for row in job.ranks] == [0]
    assert any("Rank 1" in note and "no GPU events" in note for note in job.notes)


def test_beside_the_kernels_of_a_gpu_a_barrier_of_gloo_does_not_count():
    trace = a_trace(
        device=[kernel(10, 20, name=NCCL)],
        annotations=[a_step(0, 0, 99), op(40, 30, "gloo:barrier", tid=77)],
    )
    summary = summarise_rank(trace, 0)
    assert summary.on_gpu
    assert summary.calls["kind"].to_list() == ["all_reduce"]
