"""Every page that shows a trace says first that it is cut."""

import gzip
import re
import shutil
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from profiler_core.analysis.item import kernel_item
from profiler_core.page_specs import page_spec
from profiler_core.session.cache import Cache
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.session.run import Run
from profiler_core.store import library
from profiler_core.ui.reading import run_of
from tests.apps import PAGES, opened, text_of
from tests.uploading import accept

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"


@pytest.fixture(scope="module")
def home(tmp_path_factory, columns):
    """A pair without timed rounds, of which the candidate's trace ends in the middle."""
    folder = tmp_path_factory.mktemp("cut")
    (folder / "cache").symlink_to(columns)
    for variant in ("eager", "reduce-overhead"):
        target = folder / "runs" / "cnn" / variant
        target.mkdir(parents=True)
        shutil.copy(CAPTURES / f"customcnn_b1.{variant}" / "trace.json.gz", target)
    text = gzip.decompress((target / "trace.json.gz").read_bytes())
    (target / "trace.json.gz").write_bytes(gzip.compress(text[: len(text) * 7 // 10]))
    return folder


@pytest.mark.parametrize("page", ["overview", "timeline", "kernels", "fusion", "memory"])
def test_a_page_says_first_that_a_trace_is_cut(home, monkeypatch, page):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home / "samples")
    keys = {"baseline": "run/cnn/eager", "candidate": ["run/cnn/reduce-overhead"]}
    text = text_of(opened(page, **keys)).replace("\\", "")
    assert "reduce-overhead is cut" in text
    assert "as fast as" not in text
    assert not re.search(r"[+−]\d+ (%|pts)", text)
    assert "What fusion did" not in text
    if page in ("overview", "memory"):
        assert re.search(r"<h1 class=.fs-verdict fs-worse.>(<[^>]+>)*Not compared", text)


def test_the_list_of_runs_says_which_trace_is_cut(home, monkeypatch):
    """ "not timed" stood there, as it stands at a run that has neither rounds nor a trace."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home / "samples")
    assert run_of(library.entry("run/cnn/reduce-overhead")).summary is not None
    text = text_of(opened("runs"))
    assert text.count("trace is cut") == 1
    assert "not timed" not in text.split("trace is cut")[1]


@pytest.mark.parametrize("page", ["timeline", "kernels", "fusion", "modules"])
def test_of_a_cut_pair_no_page_begins_with_its_question(home, monkeypatch, page):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home / "samples")
    keys = {"baseline": "run/cnn/reduce-overhead", "candidate": ["run/cnn/default"]}
    if not (home / "runs/cnn/default").exists():
        shutil.copytree(home / "runs/cnn/reduce-overhead", home / "runs/cnn/default")
    app = opened(page, **keys)
    text = text_of(app).replace("\\", "")
    assert page_spec(page).question not in text
    assert "are cut" in text
    assert text.count("Kineto writes a file") == 1
    assert not [frame for frame in app.dataframe if "d1" in frame.value]
    if page == "fusion":
        assert not app.get("button_group")  # an order of nothing


@pytest.mark.parametrize("page", ["fusion", "modules"])
def test_a_page_that_cannot_use_a_cut_trace_leads_to_those_that_can(home, monkeypatch, page):
    """It ended at the card, though *Timeline* and *Kernels* show what is left.

    Kernels shows the whole ones alone where there are any: the way there is to the cut one.
    """
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home / "samples")
    keys = {"baseline": "run/cnn/eager", "candidate": ["run/cnn/reduce-overhead"]}
    text = text_of(opened(page, **keys))
    both = {"baseline": ["run/cnn/eager"], "candidate": ["run/cnn/reduce-overhead"]}
    cut = {"baseline": ["run/cnn/reduce-overhead"]}
    for other, expected in {"timeline": both, "kernels": cut}.items():
        (address,) = re.findall(rf'href="{other}\?([^"]*)"', text)
        assert parse_qs(unescape(address)) == expected


def test_kernels_of_a_cut_trace_are_counted_and_summed_in_all_that_is_left(home, monkeypatch):
    """Per step stood there, of steps that have no kernels any more, beside "–" in the dossier."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home / "samples")
    app = opened("kernels", baseline="run/cnn/reduce-overhead", candidate=[])
    trace = Run.open(home / "runs/cnn/reduce-overhead").required_trace()
    in_steps = Run.open(home / "runs/cnn/reduce-overhead").required_summary()
    frame = app.dataframe[0].value
    assert sum(frame["n0"]) == in_steps.n_kernels > in_steps.n_steps > 1
    assert sum(frame["t0"]) == pytest.approx(in_steps.kernel_time_ns / 1e3, abs=0.1)
    assert trace.tally.is_cut
    text = text_of(app).replace("\\", "")
    assert f"What is left of the cut trace has {in_steps.n_kernels} kernels; " in text


def test_operators_of_a_trace_cut_before_its_device_are_not_called_kernels(
    home, monkeypatch, tmp_path
):
    """Host times of "630 kernels" stood beside the other run's, then operators on their axis."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    shutil.copytree(home / "runs/cnn/eager", tmp_path / "runs/cnn/eager")
    shutil.copytree(home / "runs/cnn/eager", tmp_path / "runs/cnn/default")
    trace = tmp_path / "runs/cnn/default/trace.json.gz"
    text = gzip.decompress(trace.read_bytes())
    trace.write_bytes(gzip.compress(text[: text.index(b'"cat": "kernel"')]))
    app = opened("kernels", baseline="run/cnn/eager", candidate=["run/cnn/default"])
    shown = text_of(app).replace("\\", "")
    assert "default is cut" in shown
    assert "The trace of default holds operators with their time on the host, and no" in shown
    assert re.search(r"\d+ kernels per step; ", shown)
    assert "What is left" not in shown  # of the trace of eager nothing is missing
    assert list(app.dataframe[0].value.columns) == ["name", "t0", "category", "n0", "whole"]
    assert not any(name.startswith("aten::") for name in app.dataframe[0].value["whole"])


def test_a_cut_trace_alone_is_not_told_to_be_compared(home, monkeypatch):
    """ "add one in the sidebar to compare" stood below that it cannot be compared."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home / "samples")
    text = text_of(opened("overview", baseline="run/cnn/reduce-overhead", candidate=[]))
    assert "cannot be compared with another run" in text
    assert "to compare." not in text


@pytest.mark.parametrize("page", sorted(file.stem for file in PAGES.glob("*.py")))
def test_every_page_opens_with_a_cut_upload_alone(tmp_path, monkeypatch, page):
    """*Overview* stopped with an error at the meanings of numbers, of which there were none."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    data = gzip.decompress((CAPTURES / "smallcnn_cpu.eager/trace.json.gz").read_bytes())
    (key,) = accept({"broken.json": data[: len(data) // 2]}).keys
    app = opened(page, baseline=key)
    assert text_of(app)
    if page == "overview":
        assert "What is left of a cut trace has no number of a whole step." in text_of(app)
        assert not app.expander


def test_two_cut_traces_are_told_in_one_card(home, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home / "samples")
    if not (home / "runs/cnn/default").exists():
        shutil.copytree(home / "runs/cnn/reduce-overhead", home / "runs/cnn/default")
    keys = {"baseline": "run/cnn/default", "candidate": ["run/cnn/reduce-overhead"]}
    text = text_of(opened("kernels", **keys)).replace("\\", "")
    assert "The traces of default and reduce-overhead are cut: " in text
    assert "Record them again" in text
    assert text.count("Kineto writes a file") == 1


@pytest.mark.parametrize(
    ("candidates", "kept"), [(["run/cnn/reduce-overhead"], "run/cnn/eager"), ([], None)]
)
def test_a_cut_trace_is_not_offered_as_a_baseline(home, monkeypatch, candidates, kept):
    """No newer run could be held against it."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home / "samples")
    baseline = "run/cnn/eager" if candidates else "run/cnn/reduce-overhead"
    app = opened("overview", baseline=baseline, candidate=candidates)
    names = [field.key for field in app.text_input if field.key.startswith("fs_bl_name_")]
    assert names == ([f"fs_bl_name_{kept}"] if kept else [])


def test_the_dossier_of_a_kernel_says_nothing_of_a_step_of_a_cut_trace(home):
    """It had 256 ns per step and 0.2 calls, and of the other run that it does not run there."""
    whole = Run.open(home / "runs/cnn/eager")
    cut = Run.open(home / "runs/cnn/reduce-overhead")
    comparison = Comparison([whole, cut], cache=Cache())
    names = [row.name for row in comparison.kernels if row.sides[1] is not None]
    made = dossier(comparison, kernel_item(sorted(names)[0]))
    of_whole, of_cut = made.times
    assert of_cut.unknown == "not in what is left of its trace"
    assert (of_cut.time_ns, of_cut.n) == (None, None)
    assert of_cut.mean_ns > 0
    assert of_whole.unknown == ""
    assert not [line for line in made.rooflines if line.label == of_cut.label]
    assert "What a step takes is not known: the trace of reduce-overhead is cut" in made.missing[0]
