"""The timeline's Python side: addresses in the URL, the scene for the canvas, facts in words."""

import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from profiler_core.model.tally import Tally
from profiler_core.session.run import Run
from profiler_core.store import library
from profiler_core.timeline.build import build_index
from profiler_core.timeline.event import event
from profiler_core.timeline.index import open_index
from profiler_core.ui.timeline import panels
from profiler_core.ui.timeline.address import Address, Selected, read_address
from profiler_core.ui.timeline.colours import legend
from profiler_core.ui.timeline.component import Picked
from profiler_core.ui.timeline.link import link_to_event
from profiler_core.ui.timeline.scene import (
    SceneRun,
    offset_ns,
    reading_notes,
    replay_notes,
    scene,
    step_names,
    track_label,
)
from profiler_core.units import format_share
from tests.apps import opened, text_of
from tests.builders import a_trace, kernel, launch, op, step
from tests.reference import ns, read_events

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"


def a_scene_run(tmp_path, number=0, first_step_ns=1000):
    trace = a_trace(
        annotations=[step(3, first_step_ns, 500), step(4, first_step_ns + 600, 400)],
        ops=[op(first_step_ns + 10, 300, "aten::mm")],
        runtime=[launch(first_step_ns + 20, 10, 1)],
        device=[kernel(first_step_ns + 50, 100, 1, name="sm90_gemm")],
    )
    folder = tmp_path / f"index{number}"
    build_index(trace, folder)
    role = "candidate" if number else "baseline"
    run = SceneRun(number, f"run{number}", role, "#123456", "token", open_index(folder))
    return trace, run


@pytest.mark.parametrize(
    "address",
    [
        Address(),
        Address(step=2, window=(-500, 1_000_000), span=(0, 7), event=Selected(1, "device", 42)),
    ],
)
def test_an_address_survives_the_url(address):
    assert read_address(address.parameters()) == address


@pytest.mark.parametrize(
    "typed",
    [
        {"window": "5_5"},
        {"window": "9_1"},
        {"window": "a_b"},
        {"window": "0_99999999999999999999"},
        {"window": f"0_{2**53}"},
        {"event": "0.passwords.1"},
        {"event": "0.device"},
        {"event": "-1.device.1"},
        {"step": "-1"},
        {"step": "x"},
        {"span": "1"},
    ],
)
def test_a_value_that_makes_no_sense_is_left_out(typed):
    assert read_address(typed) == Address()


def test_runs_are_aligned_at_the_same_step_of_each(tmp_path):
    _, baseline = a_scene_run(tmp_path, 0, 1000)
    _, candidate = a_scene_run(tmp_path, 1, 5000)
    data = scene([baseline, candidate], 1, dark=False)
    assert [run["offset_ns"] for run in data["runs"]] == [1600, 5600]
    assert step_names([baseline, candidate]) == ("ProfilerStep#3", "ProfilerStep#4")
    notes = [track["note"] for track in data["runs"][0]["tracks"] if track["note"]]
    assert notes and all(re.search(r"busy · (1 event|\d+ events)$", note) for note in notes)


def test_how_busy_a_stream_is_does_not_depend_on_what_threads_do_after_its_work(tmp_path):
    stray = {"runtime": [launch(900, 20, 9, tid=77)]}
    for number, more in enumerate(({}, stray)):
        trace = a_trace(
            ops=[op(0, 100, "aten::mm")],
            device=[kernel(100, 100, 1), kernel(250, 50, 2)],
            **more,
        )
        build_index(trace, tmp_path / f"index{number}")
        run = SceneRun(0, "run", "baseline", "#123456", "", open_index(tmp_path / f"index{number}"))
        (drawn,) = scene([run], 0, dark=False)["runs"]
        (note,) = (track["note"] for track in drawn["tracks"] if track["kind"] == "stream")
        assert note == "75 % busy · 2 events"


def test_what_a_thread_does_is_told_of_the_steps(tmp_path):
    """It waits for 50 of 100 ns of the steps; what it does before and after them is not told."""
    trace = a_trace(
        annotations=[step(0, 100, 60), step(1, 160, 40)],
        ops=[op(0, 90, "aten::empty"), op(110, 20, "aten::mm"), op(190, 30, "aten::add")],
        runtime=[
            {**launch(140, 50, 1), "name": "cudaDeviceSynchronize"},
            {**launch(220, 900, 2), "name": "cudaDeviceSynchronize"},
        ],
    )
    build_index(trace, tmp_path / "index")
    run = SceneRun(0, "run", "baseline", "#123456", "", open_index(tmp_path / "index"))
    (drawn,) = scene([run], 0, dark=False)["runs"]
    (note,) = (track["note"] for track in drawn["tracks"] if track["kind"] == "thread")
    assert note.startswith("30 % busy, 50 % waiting · ")


@pytest.mark.parametrize("sample", ["simplecnn-training/default", "breaky/eager"])
def test_threads_of_a_sample_wait_as_long_as_its_file_says(sample, tmp_path):
    """By plain JSON: the calls of the runtime that wait, cut to the steps, of each thread."""
    folder = library.sample_traces_directory() / sample
    events = read_events(folder / "trace.json.gz")
    steps = [e for e in events if e["name"].startswith("ProfilerStep#") and "ts" in e]
    steps = [(ns(e["ts"]), ns(e["dur"])) for e in steps if e["cat"] == "user_annotation"]
    first, last = min(ts for ts, _ in steps), max(ts + dur for ts, dur in steps)
    waits = Counter()
    for e in events:
        if e.get("cat") == "cuda_runtime" and "Synchronize" in e["name"]:
            ts, end = ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])
            waits[e["tid"]] += max(0, min(end, last) - max(ts, first))
    build_index(Run.open(folder).required_trace(), tmp_path / "index")
    index = open_index(tmp_path / "index")
    run = SceneRun(0, "run", "baseline", "#123456", "", index)
    (drawn,) = scene([run], 0, dark=False)["runs"]
    threads = [track for track in index.layout.tracks if track.kind == "thread"]
    assert {t.tid: t.waiting_ns for t in threads if t.waiting_ns} == {
        tid: waited for tid, waited in waits.items() if waited
    }
    notes = {t["label"]: t["note"] for t in drawn["tracks"] if t["kind"] == "thread"}
    for track in threads:
        if waited := waits[track.tid]:
            assert f"{format_share(waited / (last - first))} waiting" in notes[track_label(track)]
    # Of the training all waiting is behind the steps: 4 % of the trace stood there.
    assert any("waiting" in note for note in notes.values()) is (sample == "breaky/eager")


def test_a_stream_is_as_busy_as_the_first_line_says_of_the_steps(tmp_path):
    """Of customcnn with CUDA graphs 41 % stood below 33 %: of first to last work alone."""
    run = Run.open(CAPTURES / "customcnn_b1.reduce-overhead")
    build_index(run.required_trace(), tmp_path / "index")
    drawn = SceneRun(0, "run", "baseline", "#123456", "", open_index(tmp_path / "index"))
    tracks = scene([drawn], 0, dark=False)["runs"][0]["tracks"]
    (note,) = (track["note"] for track in tracks if track["kind"] == "stream")
    assert note.startswith(f"{format_share(run.required_summary().busy_fraction)} busy")


def test_a_run_with_fewer_steps_is_aligned_at_its_last(tmp_path):
    _, run = a_scene_run(tmp_path)
    assert offset_ns(run.index, 77) == 1600


def test_a_trace_without_steps_is_aligned_at_its_first_event(tmp_path):
    build_index(a_trace(device=[kernel(700, 10)]), tmp_path / "index")
    assert offset_ns(open_index(tmp_path / "index"), 0) == 700


def test_category_numbers_of_a_run_lead_into_the_common_legend(tmp_path):
    _, run = a_scene_run(tmp_path)
    data = scene([run], 0, dark=True)
    labels = [category["label"] for category in data["categories"]]
    own = run.index.layout.categories
    (mapping,) = (r["categories"] for r in data["runs"])
    named = dict(zip(own, (labels[number] for number in mapping), strict=True))
    assert named["gemm"] == "GEMM"
    assert named["host_launch"] == "Launch call"


def test_the_legend_has_the_device_first_and_only_what_occurs():
    entries = legend({"host_op", "memcpy", "gemm"}, dark=False)
    assert [entry.key for entry in entries] == ["gemm", "memcpy", "host_op"]
    assert [entry.host for entry in entries] == [False, False, True]


def test_the_facts_of_a_kernel_are_words(tmp_path):
    trace, run = a_scene_run(tmp_path)
    facts = dict(panels.event_facts(Picked(0, event(trace, run.index, "device", 0)), [run]))
    assert facts["Category"] == "GEMM"
    assert facts["Duration"] == "100 ns"
    assert facts["Starts"] == "50 ns into step 3"
    assert facts["Launch delay"] == "20 ns after its launch call returned"
    assert facts["Operators"] == "aten::mm"
    assert "Bytes" not in facts


def test_the_tensor_that_a_product_writes_into_is_none_of_its_inputs(tmp_path):
    """Generated code calls mm(a, b, out=c): the file has three shapes, of which it reads two."""
    folder = library.sample_traces_directory() / "simplecnn-training" / "default"
    products = [e for e in read_events(folder / "trace.json.gz") if e["name"] == "aten::mm"]
    handed = min(products, key=lambda product: ns(product["ts"]))["args"]["Input Dims"]
    assert len(handed) == 3
    trace = Run.open(folder).required_trace()
    build_index(trace, tmp_path / "index")
    run = SceneRun(0, "run", "baseline", "#123456", "", open_index(tmp_path / "index"))
    ops = trace.ops.with_row_index("row").filter(pl.col("name") == "aten::mm").sort("ts_ns")
    row = int(ops["row"][0])
    facts = dict(panels.event_facts(Picked(0, event(trace, run.index, "ops", row)), [run]))
    read = " · ".join(f"{'×'.join(map(str, shape))} f32" for shape in handed[:2])
    assert facts["Input shapes"] == read
    # What a generated kernel writes to is among what it is handed.
    written = trace.ops.with_row_index("row").filter(
        pl.col("name").cast(str).str.starts_with("triton_")
    )
    row = int(written["row"][0])
    facts = dict(panels.event_facts(Picked(0, event(trace, run.index, "ops", row)), [run]))
    assert "Input shapes" not in facts
    assert facts["Argument shapes"]


@pytest.mark.parametrize(
    ("row", "starts"),
    [
        (
            0,
            "150 ns after the start of the trace, in no step and not counted: "
            "it was launched before the profiler began",
        ),
        (1, "60 ns into step 3"),
        (2, "20 ns after step 3 ended on the host, and counted in that step"),
    ],
)
def test_where_an_event_starts_is_told_from_the_step_that_counts_it(tmp_path, row, starts):
    trace = a_trace(
        annotations=[step(3, 100, 100), step(4, 210, 90)],
        runtime=[launch(150, 5, 1), launch(170, 5, 2)],
        device=[kernel(150, 5), kernel(160, 5, 1), kernel(220, 5, 2)],
    )
    build_index(trace, tmp_path / "index")
    run = SceneRun(0, "eager", "baseline", "#123456", "token", open_index(tmp_path / "index"))
    picked = Picked(0, event(trace, run.index, "device", row))
    assert dict(panels.event_facts(picked, [run]))["Starts"] == starts


def test_without_steps_no_event_is_told_from_a_step(tmp_path):
    trace = a_trace(runtime=[launch(10, 5, 1)], device=[kernel(5, 5), kernel(20, 5, 1)])
    build_index(trace, tmp_path / "index")
    run = SceneRun(0, "eager", "baseline", "#123456", "token", open_index(tmp_path / "index"))
    picked = [Picked(0, event(trace, run.index, "device", row)) for row in range(2)]
    assert [dict(panels.event_facts(each, [run]))["Starts"] for each in picked] == [
        "5 ns after the start of the trace, not counted: it was launched before the profiler began",
        "20 ns after the start of the trace",
    ]


def test_what_the_file_did_not_have_whole_is_said(tmp_path):
    trace = a_trace(device=[kernel(0, 10)])
    cut = replace(trace, tally=Tally(3, {"no duration": 2}, {"cut short": 1}))
    build_index(cut, tmp_path / "index")
    run = SceneRun(0, "eager", "baseline", "#123456", "token", open_index(tmp_path / "index"))
    (sentence,) = reading_notes([run])
    assert sentence == (
        "eager: 1 event drawn, 2 skipped: no duration, the file was mended (cut short)."
    )
    _, whole = a_scene_run(tmp_path)
    assert reading_notes([whole]) == []


def test_a_replayed_convolution_may_look_like_a_gemm(tmp_path):
    def indexed(number, runtime, kernel_name):
        trace = a_trace(runtime=[runtime], device=[kernel(1_200_000, 40_000, 1, name=kernel_name)])
        build_index(trace, tmp_path / f"replay{number}")
        index = open_index(tmp_path / f"replay{number}")
        return SceneRun(number, f"run{number}", "candidate", "#123456", "token", index)

    eager = indexed(0, launch(1_000_100, 10, 1), "implicit_convolve_sgemm")
    replay = indexed(1, launch(1_000_100, 10, 1, name="cudaGraphLaunch"), "sm90_gemm")
    (sentence,) = replay_notes([eager, replay])
    assert sentence.startswith("run1: a CUDA graph replays kernels without their operators")
    assert replay_notes([replay]) == []  # nothing here is a convolution
    assert replay_notes([eager]) == []


def test_a_link_to_an_event_shows_it_with_its_neighbours():
    trace = a_trace(
        annotations=[step(0, 1_000_000, 500_000)],
        runtime=[launch(1_000_100, 10, 1)],
        device=[kernel(1_200_000, 40_000, 1)],
    )
    assert link_to_event(trace, 2, "device", 0) == {
        "window": "-200000_640000",
        "event": "2.device.0",
    }
    short = a_trace(
        annotations=[step(0, 1_000_000, 500_000)],
        runtime=[launch(1_000_100, 10, 1)],
        device=[kernel(1_200_000, 1_000, 1)],
    )
    assert link_to_event(short, 0, "device", 0)["window"] == "180000_221000"


def test_without_steps_a_link_only_selects_the_event():
    trace = a_trace(device=[kernel(1_200_000, 40_000)])
    assert link_to_event(trace, 0, "device", 0) == {"event": "0.device.0"}


def test_busy_shares_that_differ_from_the_overview_s_are_explained(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    timed, upload = tmp_path / "runs" / "cnn" / "eager", tmp_path / "uploads" / "u" / "1"
    shutil.copytree(CAPTURES / "customcnn_b1.eager", timed)
    upload.mkdir(parents=True)
    shutil.copy(timed / "trace.json.gz", upload)
    explained = "Busy shares here are of the profiled time"
    assert explained in text_of(opened("timeline", baseline="run/cnn/eager"))
    assert explained not in text_of(opened("timeline", baseline="upload/u/1"))
