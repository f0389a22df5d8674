"""The page telemetry as a visitor meets it: pairs, single files, nothing at all, and live."""

import json
import os
import shutil
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st

from profiler_core.capture.telemetry.sources import Gpus
from profiler_core.store import library
from profiler_core.ui.telemetry import live
from tests import apps
from tests.apps import text_of

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces" / "resnet50"
PAIR = {"baseline": "run/r/eager", "candidate": ["run/r/default"]}
PM_SAMPLING = ROOT / "tests" / "fixtures" / "kineto" / "real" / "pm_sampling.json"
HOSTILE = "<img src=x onerror=alert(1)>"
opened = partial(apps.opened, "telemetry")


@pytest.fixture
def home(tmp_path, columns, monkeypatch):
    """Two runs of a sample capture, with no more than this page reads."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for variant in ("eager", "default"):
        folder = tmp_path / "runs" / "r" / variant
        folder.mkdir(parents=True)
        for name in ("run.json", "nvml.jsonl"):
            shutil.copy(SAMPLES / variant / name, folder)
    st.cache_resource.clear()
    return tmp_path


def edit(folder, **changed):
    path = folder / "nvml.jsonl"
    rows = [json.loads(line) | changed for line in path.read_text().splitlines()]
    path.write_text("\n".join(json.dumps(row) for row in rows))


def test_a_pair_is_judged_and_its_numbers_stand_side_by_side(home):
    text = text_of(opened(**PAIR))
    for word in ("A fair comparison", "2.87 J", "1.67 J", "1980 MHz for both", "89.7 mJ", "−42 %"):
        assert word in text
    assert "from their deadline" in text


def test_the_page_shows_the_gpu_of_every_rank_of_a_job(home):
    for variant in ("eager", "default"):
        folder = home / "runs" / "r" / variant
        record = json.loads((folder / "run.json").read_text())
        uuids = ["GPU-of-0", f"GPU-of-1-{variant}"]
        record["measurement"] |= {"rank_gpus": [0, 5], "rank_gpu_uuids": uuids}
        (folder / "run.json").write_text(json.dumps(record | {"world_size": 2}))
        rows = [json.loads(line) for line in (folder / "nvml.jsonl").read_text().splitlines()]
        rows += [row | {"gpu_index": 5, "power_w": 100.0, "sm_clock_mhz": 1111} for row in rows]
        (folder / "nvml.jsonl").write_text("\n".join(map(json.dumps, rows)))
    app = opened(**PAIR)
    text = text_of(app)
    for word in (
        "The GPU of each rank",
        "rank 0, GPU 0",
        "rank 1, GPU 5",
        "1111 MHz",
        "GPU-of-1-eager",
        "GPU-of-1-default",
        "those of the other ranks are dotted",
    ):
        assert word in text
    figure = json.loads(app.get("plotly_chart")[0].proto.spec)
    names = [line["name"] for line in figure["data"]]
    for variant in ("eager", "default"):
        assert {f"{variant}, rank 0", f"{variant}, rank 1"} <= set(names)


def test_another_workload_is_no_fair_comparison(home):
    path = home / "runs" / "r" / "default" / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"workload": "another"}))
    text = text_of(opened(**PAIR))
    assert "The GPU ran in <em>the same state</em> for all runs." in text
    assert "A fair comparison" not in text
    assert "default is another workload than the baseline" in text


def test_clocks_apart_are_the_headline(home):
    edit(home / "runs" / "r" / "default", sm_clock_mhz=1700)
    text = text_of(opened(**PAIR))
    assert "Not a fair comparison" in text
    assert "14.1 % apart" in text


@pytest.mark.parametrize("axis", ["Steady state", "Whole capture"])
def test_every_axis_opens(home, axis):
    assert len(opened(**PAIR, axis=axis).get("plotly_chart")) == 1


def test_without_a_trace_there_is_no_axis_of_it(home):
    app = opened(**PAIR, axis="On the trace's axis")
    assert "None of these runs has a trace" in text_of(app)


def test_samples_alone_open_it(home):
    folder = home / "uploads" / "u" / "1"
    folder.mkdir(parents=True)
    shutil.copy(SAMPLES / "eager" / "nvml.jsonl", folder)
    (folder / "run.json").write_text(json.dumps({"run_id": "u.1", "name": "nvml.jsonl"}))
    text = text_of(opened(baseline="upload/u/1"))
    for word in ("546 W", "whole file", "sampled were not counted", "Over all samples"):
        assert word in text
    assert "In steady state" not in text


def test_what_the_profiler_sampled_is_drawn_and_needs_no_other_samples(home):
    folder = home / "uploads" / "u" / "1"
    folder.mkdir(parents=True)
    shutil.copy(PM_SAMPLING, folder / "trace.json")
    (folder / "run.json").write_text(json.dumps({"run_id": "u.1", "name": "pm_sampling.json"}))
    app = opened(baseline="upload/u/1")
    assert len(app.get("plotly_chart")) == 1
    text = text_of(app)
    for word in ("Sampled by the profiler", "SM Active (%)", "88.5", "3, every 1.00 ms"):
        assert word in text
    assert "Nothing was sampled while" not in text


def test_a_run_without_samples_says_why(home):
    for variant in ("eager", "default"):
        (home / "runs" / "r" / variant / "nvml.jsonl").unlink()
    text = text_of(opened(**PAIR))
    assert "Nothing was sampled" in text
    assert "eager and default: there is no file of samples." in text


def test_captures_with_several_ranks_say_why_nothing_was_sampled(home):
    for variant in ("eager", "default"):
        path = home / "runs" / "r" / variant / "run.json"
        record = json.loads(path.read_text()) | {"world_size": 2}
        record["measurement"]["telemetry"] = None
        path.write_text(json.dumps(record))
        (path.parent / "nvml.jsonl").unlink()
    assert "a capture with several ranks (2 here) has no telemetry phase" in text_of(opened(**PAIR))


def test_the_heading_says_of_a_run_that_never_ran_alone_that_all_samples_are_meant(home):
    """The memory and threads of a whole capture stood under "In steady state"."""
    head = "Of default over all samples."
    text = text_of(opened(**PAIR))
    assert "In steady state" in text
    assert head not in text
    path = home / "runs" / "r" / "default" / "run.json"
    record = json.loads(path.read_text()) | {"world_size": 2}
    record["measurement"]["telemetry"] = None
    path.write_text(json.dumps(record))
    text = text_of(opened(**PAIR))
    assert "In steady state" in text
    assert head in text


def test_a_damaged_file_costs_its_own_run_alone(home):
    (home / "runs" / "r" / "default" / "nvml.jsonl").write_text("no sample\n")
    text = text_of(opened(**PAIR))
    assert "2.87 J" in text
    assert "default: nvml.jsonl holds no sample" in text


def test_names_and_reasons_from_files_are_never_html(home):
    edit(
        home / "runs" / "r" / "default",
        energy_mj=None,
        reasons={"energy_mj": HOSTILE},
        sampler={"source": HOSTILE, "gpu": HOSTILE},
    )
    app = opened(**PAIR)
    for element in app.get("html"):
        assert "<img" not in element.proto.body
    assert "&lt;img" in text_of(app)


class FakeGpu:
    """A device as the sampler sees one."""

    index, name, reasons = 0, "NVIDIA Made Up", {}

    def facts(self):
        return {"power_limit_w": 700.0}

    def sample(self, t_ns):
        return {
            "t_ns": t_ns, "gpu_index": 0, "utilization_gpu_pct": 63, "power_w": 512.0,
            "sm_clock_mhz": 1980, "temperature_c": 51, "memory_used_bytes": 2_000_000_000,
            "clocks_event_reasons": 4, "process_memory_bytes": {str(os.getpid()): 1_500_000_000},
        }  # fmt: skip


def test_without_a_gpu_the_live_view_is_one_sentence(home, monkeypatch):
    monkeypatch.setattr(live, "_gpus", lambda: Gpus(reason="No GPU can be sampled here: none."))
    assert "No GPU can be sampled here: none." in text_of(opened(**PAIR))


def test_the_live_view_shows_gpus_and_their_processes(home, monkeypatch):
    monkeypatch.setattr(live, "_gpus", lambda: Gpus((FakeGpu(),), "nvml"))
    st.cache_data.clear()
    app = opened(**PAIR)
    text = text_of(app)
    for word in ("NVIDIA Made Up", "63 %", "512 W of 700 W", "SwPowerCap", "1.50 GB"):
        assert word in text
    assert str(os.getpid()) in text
    deadline = time.monotonic() + 120
    while len(app.get("plotly_chart")) < 2 and time.monotonic() < deadline:
        st.cache_data.clear()
        app.run()
    assert len(app.get("plotly_chart")) == 2  # the second look has a line to draw
    st.cache_resource.clear()


def test_a_gpu_without_a_sample_is_no_error(home, monkeypatch):
    """An empty element is one of Streamlit's."""
    monkeypatch.setattr(live, "_gpus", lambda: Gpus((FakeGpu(),), "nvml"))
    monkeypatch.setattr(live, "_samples", list)
    app = opened(**PAIR)
    assert not app.exception
    assert "This machine now" in text_of(app)


@pytest.fixture
def proc(tmp_path):
    (tmp_path / "77").mkdir()
    (tmp_path / "77" / "comm").write_text("python3\n")
    (tmp_path / "77" / "cmdline").write_text("python3\0train.py\0--token=secret")
    return tmp_path


def test_a_process_is_named_without_its_command_line(proc):
    assert live.process_name(77, is_local=True, proc=proc) == "python3"
    assert live.process_name(78, is_local=True, proc=proc) == "not on this system"


def test_on_a_server_for_others_other_users_stay_unnamed(proc, monkeypatch):
    assert live.process_name(77, is_local=False, proc=proc) == "python3"  # this user's own
    somebody_else = os.getuid() + 1
    monkeypatch.setattr(live, "os", SimpleNamespace(getuid=lambda: somebody_else))
    assert live.process_name(77, is_local=False, proc=proc) == "of another user"
    assert live.process_name(77, is_local=True, proc=proc) == "python3"
