"""What stands out on the overview follows the files that it rests on."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import streamlit as st

from profiler_core.analysis.rows.findings import FindingRow
from profiler_core.markup import render
from profiler_core.store import library
from tests.apps import opened, text_of

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces" / "customcnn"
BF16 = "+bf16-autocast+channels_last"
HW_THERMAL = 0x40  # NVML: nvmlClocksEventReasonHwThermalSlowdown


@pytest.fixture
def home(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for variant in ("eager", "default"):
        shutil.copytree(SAMPLES / variant, tmp_path / "runs" / "c" / variant)
    st.cache_resource.clear()
    return tmp_path


@pytest.mark.parametrize(
    "query",
    [
        {"baseline": "run/c/eager", "candidate": ["run/c/default"]},
        {"baseline": "run/c/default"},
    ],
    ids=["a pair", "a run alone"],
)
def test_new_samples_of_the_gpu_are_seen_at_once(home, query):
    assert "GPU was throttled" not in text_of(opened("overview", **query))
    path = home / "runs" / "c" / "default" / "nvml.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    hot = [row | {"clocks_event_reasons": HW_THERMAL} for row in rows]
    later = path.with_name("new")
    later.write_text("\n".join(json.dumps(row) for row in hot))
    stamp = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(later, ns=(stamp, stamp))
    later.replace(path)
    assert "GPU was throttled" in text_of(opened("overview", **query))


def test_where_nothing_stands_out_settings_can_be_tried(home):
    """ "None of the usual causes takes a noticeable part" led nowhere, beside a faster mode."""
    runs = SAMPLES.parent / "resnet50-bf16"
    for mode in ("eager", "reduce-overhead"):
        folder = home / "runs" / "half" / mode
        shutil.copytree(runs / f"{mode}{BF16}", folder)
        record = json.loads((folder / "run.json").read_text())
        record["spec"]["precision"] = "bf16"  # the model's own: under autocast casts stand out
        (folder / "run.json").write_text(json.dumps(record))
    app = opened("overview", baseline="run/half/eager", candidate=["run/half/reduce-overhead"])
    text = re.sub(r"\s+", " ", text_of(app))
    assert "Nothing stands out" in text
    assert "Whether other settings are faster is told only by trying them." in text
    (button,) = (button for button in app.button if button.key == "fs_try_all")
    assert button.label.startswith("Try settings")


def test_an_upper_bound_is_marked_as_one(home):
    shutil.copytree(SAMPLES / "reduce-overhead", home / "runs" / "c" / "reduce-overhead")
    text = text_of(opened("overview", baseline="run/c/eager", candidate=["run/c/reduce-overhead"]))
    assert "<b>≤ " in text
    assert "At most " in text


def test_the_dossier_of_a_finding_leads_to_the_page_that_shows_it(home):
    pair = {"baseline": "run/c/eager", "candidate": ["run/c/default"]}
    app = opened("overview", **pair, item="finding:1.launch_bound")
    text = text_of(app)
    assert "fs-dossier" in text
    assert "See it on Timeline" in text


def test_no_line_of_a_finding_ends_between_a_number_and_its_unit():
    """On *Review* "296" ended a line, and "µs" began the next."""
    row = FindingRow(
        "It takes 296 µs.", "973 µs of `x`.", "Save 3 %.", "1 ms", "per step", "x", is_grave=False,
        interval="2 ms to 3 ms", overlaps="4 ms are shared.",
    )  # fmt: skip
    drawn = render("page/findings.html", findings=[(row, None, "")])
    assert not re.search(r"\d (?:[mµ]s|%)", drawn), drawn
    assert len(re.findall(r"\d\u00a0(?:[mµ]s|%)", drawn)) == 7


def test_a_finding_of_a_review_is_drawn_without_a_dossier():
    row = FindingRow(
        "Two breaks.", "Seen twice.", "Mend them.", "1 ms", "per step", "x", is_grave=False
    )
    drawn = render("page/findings.html", findings=[(row, None, "compilation?x=1")])
    assert "<b>Two breaks.</b>" in drawn
    assert "<b>1\u00a0ms</b>" in drawn
    assert 'data-page href="compilation?x=1"' in drawn
