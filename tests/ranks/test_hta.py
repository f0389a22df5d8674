"""HTA through the bridge is right where HTA alone is wrong, and equal where it alone is right.

Expected values are worked out by hand from the comment in hta_traces.py, in µs; HTA on our frames
answers in ns, to the nanosecond (shares: 0.005 %, the digits that HTA prints).
"""

import builtins
import gzip
import json
from functools import partial

import pytest

hta = pytest.importorskip("hta")

from profiler_core.ingest.open import open_trace  # noqa: E402
from profiler_core.ranks.find import find_ranks  # noqa: E402
from profiler_core.ranks.hta import ask as asking  # noqa: E402
from profiler_core.ranks.hta.ask import ask_hta  # noqa: E402
from profiler_core.ranks.hta.frames import STREAM_ZERO, Frames, add_rank  # noqa: E402
from profiler_core.ranks.job_of import job_of  # noqa: E402
from tests.builders import a_trace, kernel, launch, step  # noqa: E402
from tests.ranks.hta_traces import write_counters, write_job  # noqa: E402

US = 1000
KINDS = ("eager", "compiled")


def asked(folder, baseline=None):
    ranks = find_ranks(str(folder))
    before = find_ranks(str(baseline)) if baseline else None
    return {a.key: a for a in ask_hta(ranks, job_of(ranks), before).analyses}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jobs")
    return {kind: write_job(folder / kind, kind) for kind in KINDS}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


_SHARED = {}  # both take seconds, and nobody changes what they say


@pytest.fixture
def bridged(jobs, kind):
    if ("bridged", kind) not in _SHARED:
        _SHARED["bridged", kind] = asked(jobs[kind][0].parent)
    return _SHARED["bridged", kind]


@pytest.fixture
def alone(jobs, kind):
    """HTA's own loader on the files: what it makes of them without us."""
    from hta.common.trace import Trace

    if ("alone", kind) not in _SHARED:
        with asking._quiet(), asking._pandas_3():
            trace = Trace({rank: str(path) for rank, path in enumerate(jobs[kind])}, "/")
            trace.load_traces(include_last_profiler_step=True, use_multiprocessing=False)
        _SHARED["alone", kind] = trace
    return _SHARED["alone", kind]


def figures(analysis):
    return {figure.label: figure.hta for figure in analysis.figures}


def quietly(call):
    with asking._quiet(), asking._pandas_3():
        return call()


TEMPORAL = {
    "rank 0: idle": 880, "rank 0: compute": 300, "rank 0: other than compute": 140,
    "rank 1: idle": 740, "rank 1: compute": 500, "rank 1: other than compute": 80,
}  # fmt: skip


def test_temporal_breakdown(kind, bridged, alone):
    from hta.analyzers.breakdown_analysis import BreakdownAnalysis

    assert bridged["temporal_breakdown"].status == "agrees"
    assert figures(bridged["temporal_breakdown"]) == {k: v * US for k, v in TEMPORAL.items()}
    found = quietly(lambda: BreakdownAnalysis.get_temporal_breakdown(alone, visualize=False))
    busy = [row["compute_time(us)"] for row in found.to_dict("records")]
    assert busy == ([300, 500] if kind == "eager" else [1800, 1800])  # the host's op as GPU work


def test_overlap(kind, bridged, alone):
    from hta.analyzers.communication_analysis import CommunicationAnalysis

    assert bridged["overlap"].status == "agrees"
    assert figures(bridged["overlap"]) == {"rank 0": 0.3, "rank 1": 0.0}
    found = quietly(lambda: CommunicationAnalysis.get_comm_comp_overlap(alone, visualize=False))
    assert list(found["comp_comm_overlap_pctg"]) == ([30, 0] if kind == "eager" else [100, 100])


def test_kernel_breakdown(kind, bridged, alone):
    from hta.analyzers.breakdown_analysis import BreakdownAnalysis

    expected = {
        "computation": 740, "communication": 188, "computation overlapping communication": 60,
        "communication overlapping memory": 32,
    }  # fmt: skip
    assert bridged["kernel_breakdown"].status == "agrees"
    assert figures(bridged["kernel_breakdown"]) == {k: v * US for k, v in expected.items()}
    kinds, _ = quietly(
        lambda: BreakdownAnalysis.get_gpu_kernel_breakdown(
            alone, visualize=False, include_memory_kernels=True
        )
    )
    said = {k.lower(): v for k, v in zip(kinds["kernel_type"], kinds["sum"], strict=True)}
    assert (said == expected) == (kind == "eager")


def test_idle_time(bridged, alone):
    from hta.analyzers.breakdown_analysis import BreakdownAnalysis

    expected = {
        "rank 0, stream 7: gaps": 992, "rank 0, stream 7: host late": 692,
        "rank 0, stream 13: gaps": 900, "rank 0, stream 13: host late": 900,
        "rank 1, stream 7: gaps": 792, "rank 1, stream 7: host late": 692,
        "rank 1, stream 13: gaps": 960, "rank 1, stream 13: host late": 960,
    }  # fmt: skip
    assert bridged["idle_time"].status == "agrees"
    assert figures(bridged["idle_time"]) == {k: v * US for k, v in expected.items()}
    for rank in (0, 1):  # this one HTA alone gets right on both
        found, _ = quietly(
            lambda rank=rank: BreakdownAnalysis.get_idle_time_breakdown(
                alone, 30, rank=rank, visualize=False
            )
        )
        for stream in (7, 13):
            gaps = found.loc[found["stream"] == stream, "idle_time"].sum()
            assert gaps == expected[f"rank {rank}, stream {stream}: gaps"]


def test_queue_length(kind, bridged, alone):
    from hta.analyzers.trace_counters import TraceCounters

    expected = {"rank 0, stream 7": 3, "rank 0, stream 13": 1,
                "rank 1, stream 7": 3, "rank 1, stream 13": 1}  # fmt: skip
    assert bridged["queue_length"].status == "agrees"
    assert figures(bridged["queue_length"]) == expected
    found = quietly(lambda: TraceCounters.get_queue_length_summary(alone, [0, 1]))
    longest = found[("queue_length", "max")].loc[(0, 7)]
    assert longest == (3 if kind == "eager" else 1)  # launches by the driver and graphs unknown


def test_memory_bandwidth(bridged, alone):
    from hta.analyzers.trace_counters import TraceCounters

    expected = {"rank 0: Memcpy DtoD": 100, "rank 1: Memcpy DtoD": 100}  # 800 000 B in 8 µs
    assert bridged["memory_bandwidth"].status == "agrees"
    assert figures(bridged["memory_bandwidth"]) == expected
    found = quietly(lambda: TraceCounters.get_memory_bw_summary(alone, [0, 1]))
    assert list(found[("memory_bw_gbps", "max")]) == [100, 100]


def test_critical_path(kind, bridged, alone):
    """Eager: 40 of the host, 270 until the all-reduce starts, its 100.

    Compiled: the host's operator of 900, in which HTA weighs the call of a copy with 0 (5).
    """
    from hta.analyzers.critical_path_analysis import CriticalPathAnalysis

    found = figures(bridged["critical_path"])
    assert found["rank 0, first step: whole path"] == (410 if kind == "eager" else 895) * US
    if kind == "eager":
        assert found["rank 0, first step: gpu communication bound"] == 100 * US
    else:
        assert found["rank 0, first step: cpu bound"] == 895 * US
    graph, _ = quietly(
        lambda: CriticalPathAnalysis.critical_path_analysis(alone, 0, "ProfilerStep", 0)
    )
    path = quietly(graph.get_critical_path_breakdown)["duration"].sum()
    assert (path == 410) if kind == "eager" else (path < 895)


def test_straggler(kind, bridged, alone):
    from hta.analyzers.straggler_analysis import StragglerAnalysis

    assert bridged["straggler"].status == "agrees"
    assert figures(bridged["straggler"]) == {"late rank": 1}

    def ask():
        return StragglerAnalysis.get_potential_stragglers(alone, num_candidates=1)

    if kind == "eager":
        assert quietly(ask) == [1]
    else:  # it does not know NCCL's kernels of today
        with pytest.raises(ValueError, match="empty"):
            quietly(ask)


def test_a_straggler_below_htas_threshold_is_ours_alone(tmp_path):
    """Rank 1 comes last and waits for nobody: its all-reduce of 5 µs is below 1 % of a step."""
    for file in write_job(tmp_path / "job", "compiled"):
        text = json.loads(gzip.decompress(file.read_bytes()))
        for event in text["traceEvents"]:
            if "AllReduce" in event["name"] and event["dur"] == 40:  # rank 1's
                event |= {"ts": event["ts"] + 35, "dur": 5}
        file.write_bytes(gzip.compress(json.dumps(text).encode()))
    one = asked(tmp_path / "job")["straggler"]
    assert one.status == "failed"
    assert [(f.hta, f.own) for f in one.figures] == [(None, 1)]
    assert "below 1 %" in one.meaning


def test_trace_diff(jobs, kind, alone, monkeypatch):
    from hta.trace_diff import DeviceType, LabeledTrace, TraceDiff

    # LabeledTrace parses the files anew in forked processes, and those can hang beside our threads
    here = partial(alone.parse_traces, use_multiprocessing=False)
    monkeypatch.setattr(alone, "parse_traces", here)

    found = asked(jobs[kind][0].parent, jobs["eager"][0].parent)["trace_diff"]
    assert found.status == "agrees"
    said = figures(found)
    for label in ("baseline", "candidate"):
        assert said[f"{label}, rank 0, step 2: device events"] == 4
        assert said[f"{label}, rank 0, step 2: their time"] == 258 * US
    assert said["names only in the candidate"] == (0 if kind == "eager" else 2)
    diff = quietly(
        lambda: TraceDiff.compare_traces(
            LabeledTrace(t=alone, label="a"), LabeledTrace(t=alone, label="b"),
            control_iteration=2, test_iteration=2, device_type=DeviceType.GPU,
        )
    )  # fmt: skip
    assert diff["a_counts"].sum() == 4


def test_cupti_counters_are_absent_where_the_trace_has_none(bridged):
    assert bridged["cupti_counters"].status == "absent"
    assert "profiler_metrics" in bridged["cupti_counters"].sentence


def test_cupti_counters(tmp_path, kind):
    from hta.analyzers.cupti_counter_analysis import CuptiCounterAnalysis
    from hta.common.trace import Trace

    file = write_counters(tmp_path / "rank0.json.gz", kind)
    found = asked(file)
    assert list(found) == ["cupti_counters"]  # no event of a kernel: nothing else to ask
    assert found["cupti_counters"].status == "agrees"
    assert figures(found["cupti_counters"]) == {
        "rank 0: kernels with counters": 3,
        "rank 0: smsp__inst_executed.sum": 137, "rank 0: dram__bytes_read.sum": 5120,
        "rank 0, aten::linear: dram__bytes_read.sum": 5120,
        "rank 0, aten::relu: dram__bytes_read.sum": 0,
    }  # fmt: skip

    def alone():
        trace = Trace({0: str(file)}, "/")
        trace.load_traces(include_last_profiler_step=True, use_multiprocessing=False)
        return CuptiCounterAnalysis.get_counter_data_with_operators(trace, [0])

    if kind == "eager":
        (table,) = quietly(alone)
        assert list(table["smsp__inst_executed.sum"]) == [100, 30, 7]
        assert list(table["top_level_op"]) == ["aten::linear", "aten::linear", "aten::relu"]
        assert list(table["bottom_level_op"]) == ["aten::addmm", "aten::addmm", "aten::relu"]
    else:  # it knows no launch by the driver
        assert quietly(alone) == []


def test_counters_without_a_launch_for_each_are_summed_and_hta_gives_up(tmp_path):
    file = write_counters(tmp_path / "rank0.json.gz", "eager")
    text = gzip.decompress(file.read_bytes()).replace(b"cudaLaunchKernel", b"cudaGraphLaunch", 1)
    file.write_bytes(gzip.compress(text))
    one = asked(file)["cupti_counters"]
    assert one.status == "failed"
    assert {f.label: (f.hta, f.own) for f in one.figures} == {
        "rank 0: kernels with counters": (None, 3),
        "rank 0: smsp__inst_executed.sum": (None, 137),
        "rank 0: dram__bytes_read.sum": (None, 5120),
    }


def test_a_launch_outside_of_any_operator_breaks_hta_and_ours_stands(tmp_path):
    file = write_counters(tmp_path / "rank0.json.gz", "eager")
    text = gzip.decompress(file.read_bytes()).replace(b'"ts": 190', b'"ts": 600')
    file.write_bytes(gzip.compress(text))
    one = asked(file)["cupti_counters"]
    assert (one.status, "Fusionscope's number is kept" in one.sentence) == ("failed", True)
    own = {f.label: f.own for f in one.figures}
    assert own["rank 0: smsp__inst_executed.sum"] == 137


def test_start_times_of_ranks_are_on_one_clock(tmp_path):
    frames = Frames()
    for rank, later_us in ((0, 0), (1, 7)):
        file = write_job(tmp_path / str(rank), "eager")[0]
        text = json.loads(gzip.decompress(file.read_bytes()))
        for event in text["traceEvents"]:
            event["ts"] += later_us
        file.write_bytes(gzip.compress(json.dumps(text).encode()))
        add_rank(frames, rank, open_trace(file))
    first, second = frames.traces[0], frames.traces[1]
    assert set(second["ts"] - first["ts"]) == {7 * US}
    assert set(second["end"] - first["end"]) == {7 * US}


def test_what_fails_in_hta_is_a_sentence_and_our_number_stands(jobs, monkeypatch):
    def broken(*_args, **_options):
        raise AssertionError("idle_time <= kernel_time")

    monkeypatch.setattr(
        "hta.analyzers.breakdown_analysis.BreakdownAnalysis.get_temporal_breakdown", broken
    )
    found = asked(jobs["compiled"][0].parent)
    one = found["temporal_breakdown"]
    assert one.status == "failed"
    assert "AssertionError" in one.sentence
    assert "Fusionscope's number is kept" in one.sentence
    own = {figure.label: figure.own for figure in one.figures}
    assert own == {k: v * US for k, v in TEMPORAL.items()}
    assert found["overlap"].status == "agrees"


def test_a_wrong_answer_of_hta_is_marked_and_ours_stands(jobs, monkeypatch):
    from hta.analyzers.communication_analysis import CommunicationAnalysis

    real = CommunicationAnalysis.get_comm_comp_overlap

    def twice(*args, **options):
        found = real(*args, **options)
        found["comp_comm_overlap_pctg"] *= 2
        return found

    monkeypatch.setattr(CommunicationAnalysis, "get_comm_comp_overlap", twice)
    one = asked(jobs["eager"][0].parent)["overlap"]
    assert one.status == "differs"
    assert one.figures[0].own == pytest.approx(0.3)


@pytest.mark.parametrize("error", [ModuleNotFoundError("No module named 'hta'"), SyntaxError("x")])
def test_without_hta_our_own_numbers_stand(jobs, monkeypatch, error):
    real = builtins.__import__

    def hidden(name, *args, **options):
        if name.split(".")[0] == "hta":
            raise error
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", hidden)
    ranks = find_ranks(str(jobs["compiled"][0].parent))
    answer = ask_hta(ranks, job_of(ranks))
    assert answer.version is None
    assert "cannot be used here" in answer.problem
    own = {a.key: a for a in answer.analyses}
    assert own["temporal_breakdown"].figures[0].own == 880 * US
    assert own["straggler"].figures[0].own == 1


def test_stream_zero_and_odd_names_come_through(tmp_path):
    """HTA drops stream 0 in places, and a kernel with "dma" or "Sync" in its name everywhere."""
    trace = a_trace(
        device=[
            kernel(10, 20, 1, name="my_dma_kernel", stream=0),
            kernel(40, 10, 2, name="nvjet_Sync", stream=0),
        ],
        runtime=[launch(1, 1, 1, name="cudaGraphLaunch"), launch(3, 1, 2)],
        annotations=[step(1, 0, 60)],
    )
    frames = Frames()
    add_rank(frames, 0, trace)
    frame = frames.traces[0]
    assert set(frame.loc[frame["stream"] >= 0, "stream"]) == {STREAM_ZERO}
    assert set(frame.loc[frame["stream"] >= 0, "iteration"]) == {1}
    names = {frames.symbols[i] for i in frame.loc[frame["stream"] >= 0, "name"]}
    assert {frames.real_names[name] for name in names} == {"my_dma_kernel", "nvjet_Sync"}
    assert not any("dma" in name or "Sync" in name for name in names)


def test_times_are_those_of_the_columns(jobs):
    trace = open_trace(jobs["compiled"][0])
    frames = Frames()
    add_rank(frames, 0, trace)
    frame = frames.traces[0]
    on_device = frame[frame["stream"] >= 0]
    assert list(on_device["ts"]) == trace.device["ts_ns"].to_list()
    assert on_device["dur"].dtype.kind == "i"
    linked = frame.loc[on_device["index_correlation"]]
    assert list(linked["correlation"]) == list(on_device["correlation"])
