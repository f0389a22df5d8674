"""Sends and receives between two ranks: whose kernel is longer waited for the other."""

from profiler_core.analysis.ranks.job import combine
from profiler_core.analysis.ranks.rank_summary import summarise_rank
from tests.builders import a_trace, kernel

NCCL = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def a_stage(rank, calls, *, group=(0, 1, 2), world=3, listed=None):
    """One step of 1000 ns. calls: (ts, dur, "send" or "recv", the other's place in the group).

    As torch has it, the kernel is launched behind the call, by the end of the batch.
    """
    device, runtime, records = [kernel(5, 20, 1, name="k")], [], []
    runtime.append(launch(1, 1))
    for number, (ts, dur, name, other) in enumerate(calls, start=2):
        device.append(kernel(ts, dur, number, name=NCCL, stream=13))
        runtime.append(launch(10 * number + 6, number))
        records.append(
            {"ts_ns": 10 * number, "dur_ns": 3, "pid": 1, "tid": 1, "collective": name,
             "dtype": "Float", "in_elements": 100, "out_elements": 100,
             "group_size": len(group), "group_name": "0",
             "group_ranks": listed or str(list(group)),
             "to_rank": other if name == "send" else None,
             "from_rank": other if name == "recv" else None}
        )  # fmt: skip
        records.append({**records[-1], "ts_ns": 10 * number + 8, "dur_ns": 1,
                        "collective": "wait", "to_rank": None, "from_rank": None})  # fmt: skip
    step = {"ts_ns": 0, "dur_ns": 999, "name": "ProfilerStep#0", "pid": 1, "tid": 1}
    info = {"distributedInfo": {"rank": rank, "world_size": world, "backend": "nccl"}}
    return summarise_rank(
        a_trace(device=device, runtime=runtime, annotations=[step], collectives=records,
                metadata=info),
        rank,
    )  # fmt: skip


def launch(ts, correlation):
    return {"ts_ns": ts, "dur_ns": 1, "cat": "cuda_runtime", "name": "cudaLaunchKernel",
            "pid": 1, "tid": 1, "correlation": correlation}  # fmt: skip


def test_a_receive_that_waits_for_its_send_is_waiting_and_no_transfer():
    job = combine(
        [
            a_stage(0, [(300, 10, "send", 1), (400, 200, "recv", 1)]),
            a_stage(1, [(100, 210, "recv", 0), (590, 10, "send", 0), (700, 50, "send", 2)]),
            a_stage(2, [(690, 60, "recv", 1)]),
        ]
    )
    waited = {row.rank: (row.waited_ns, row.made_wait_ns) for row in job.ranks}
    # 0 waits 190 for 1's answer, 1 waits 200 for 0's input, 2 waits 10 for 1.
    assert waited == {0: (190, 200), 1: (200, 200), 2: (10, 0)}
    (row,) = job.collectives
    assert (row.kind, row.group_size, row.n, row.bytes) == ("send_recv", 2, 2, 800)
    assert row.transfer_ns == (4 * 10 + 2 * 50) / 3
    assert row.bus_bandwidth == 400 * 6 / 140e-9


def test_places_in_a_smaller_group_are_not_ranks():
    """Ranks 4 and 6 are places 0 and 1 of their group."""
    job = combine(
        [
            a_stage(4, [(300, 10, "send", 1)], group=(4, 6), world=8),
            a_stage(6, [(100, 210, "recv", 0)], group=(4, 6), world=8),
        ]
    )
    assert {row.rank: row.waited_ns for row in job.ranks} == {4: 0, 6: 200}
    assert [arrival.group for arrival in job.arrivals] == ["4,6"]


def test_without_its_counterpart_no_waiting_is_told():
    calls = [(300, 10, "send", 1), (400, 200, "recv", 1)]
    job = combine([a_stage(0, calls), a_stage(1, [(100, 210, "recv", 0)])])
    assert job.wait_share is None
    cut = "[0, 1, 2, 3, ...]"  # nobody knows whom a place in it means
    pair = [
        a_stage(0, [(300, 10, "send", 1)], listed=cut),
        a_stage(1, [(100, 210, "recv", 0)], listed=cut),
    ]
    assert combine(pair).wait_share is None
