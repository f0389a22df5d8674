"""Every page, as a visitor meets it: inside the app, and alone as a cold link may run it."""

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core.analysis.item import kernel_item
from profiler_core.analysis.summary import summarise
from profiler_core.errors import BadInput
from profiler_core.ingest.open import open_trace
from profiler_core.page_specs import page_specs
from profiler_core.session.cache import SHARED
from profiler_core.store import history, library
from tests.apps import checked, opened, text_of

pytestmark = pytest.mark.usefixtures("unasked_machine", "quick_modules")

ROOT = Path(__file__).resolve().parents[1]
ENTRY = ROOT / "profiler_core" / "ui" / "entry.py"
CAPTURES = ROOT / "tests" / "fixtures" / "captures"
SPECS = page_specs()
PAGES = tuple(spec.name for spec in SPECS)
HOSTILE = "<img src=x onerror=alert(1)>"

COMPARISON = {"baseline": "run/cnn/eager", "candidate": ["run/cnn/reduce-overhead"]}


@pytest.fixture
def home(tmp_path, columns, monkeypatch):
    """A home with one GPU pair, one CPU pair, and no samples."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for capture, runs in (
        ("cnn", ("customcnn_b1.eager", "customcnn_b1.reduce-overhead")),
        ("cpu", ("smallcnn_cpu.eager", "smallcnn_cpu.default")),
    ):
        for run in runs:
            shutil.copytree(CAPTURES / run, tmp_path / "runs" / capture / run.split(".")[1])
    return tmp_path


@pytest.fixture
def empty_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    return tmp_path


def change_run_json(folder, **change):
    file = folder / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_alone(home, page):
    assert text_of(opened(page, **COMPARISON))


@pytest.mark.parametrize(
    "spec", [s for s in SPECS if not (s.for_admins or s.for_members)], ids=lambda s: s.name
)
def test_a_page_opens_inside_the_app(home, spec):
    app = checked(AppTest.from_file(str(ENTRY), default_timeout=300).run())
    checked(app.switch_page(f"../../pages/{spec.name}.py").run())
    text = text_of(app)
    assert text
    # An answer for the chosen runs takes the question's place.
    answer = {"kernels": "kernels per step", "fusion": " kernels per step of ",
              "timeline": "is busy for", "modules": " per step, ",
              "runs": "2 captures are here; the newest is "}.get(spec.name, "")  # fmt: skip
    answered = bool(answer) and answer in text
    assert spec.writes_headline or (spec.question in text) != answered
    assert answered or spec.name not in ("kernels", "fusion", "timeline", "modules")


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.name)
def test_with_nothing_to_show_a_page_says_how_to_begin(empty_home, spec):
    text = text_of(opened(spec.name))
    assert text
    if spec.needs != "nothing":
        assert "python -m profiler_core capture" in text


def test_trends_without_a_capture_of_ones_own_say_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))  # the samples are there
    app = opened("runs", view="Trends")
    assert "A trend needs captures of your own" in text_of(app)
    assert not app.get("plotly_chart")


def test_the_overview_compares_what_the_link_names(home):
    text = text_of(opened("overview", **COMPARISON))
    for word in ("customcnn_b1", "NVIDIA H200", "reduce-overhead", "Kernels per step", "GPU busy"):
        assert word in text
    # 26.6 and 10.3 ms of wall time over the 100 steps of their run.json.
    assert "266 µs" in text
    assert "103 µs" in text


def test_the_overview_without_a_choice_opens_on_a_comparison(home):
    app = opened("overview")
    assert app.query_params["baseline"]
    assert "Side by side" in text_of(app)


def test_a_cpu_comparison_has_the_words_of_the_cpu(home):
    text = text_of(opened("overview", baseline="run/cpu/eager", candidate=["run/cpu/default"]))
    assert "CPU busy" in text
    assert "GPU" not in text


def test_one_run_alone_is_described_and_not_judged(home):
    text = text_of(opened("overview", baseline="run/cnn/eager"))
    assert "No candidate is chosen" in text
    assert "Kernels per step" in text


def test_traces_without_measurements_get_numbers_and_no_verdict(home):
    for number, run in ((1, "customcnn_b1.eager"), (2, "customcnn_b1.reduce-overhead")):
        folder = home / "uploads" / "u" / str(number)
        folder.mkdir(parents=True)
        shutil.copy(CAPTURES / run / "trace.json.gz", folder)
    text = text_of(opened("overview", baseline="upload/u/1", candidate=["upload/u/2"]))
    assert "a measurement, not a verdict" in text
    assert "Step time, profiled" in text


def test_failed_and_lost_runs_are_shown_with_their_reason(home):
    for variant, change in (
        ("default", {"status": "failed", "error": "CUDA out of memory."}),
        ("max-autotune", {"status": "running"}),
    ):
        folder = home / "runs" / "cnn" / variant
        folder.mkdir()
        record = {"variant": variant, "role": "candidate", "capture_id": "cnn", **change}
        (folder / "run.json").write_text(json.dumps(record))
        (folder / "heartbeat").touch()
        os.utime(folder / "heartbeat", (1e9, 1e9))
    keys = ["run/cnn/reduce-overhead", "run/cnn/default", "run/cnn/max-autotune"]
    text = text_of(opened("overview", baseline="run/cnn/eager", candidate=keys))
    assert "CUDA out of memory." in text
    assert "lost" in text
    assert "103 µs" in text  # the one that finished is compared all the same
    listed = text_of(opened("runs"))
    assert "CUDA out of memory." in listed
    assert "lost" in listed


def test_a_broken_trace_takes_only_its_own_column(home):
    trace = home / "runs" / "cnn" / "reduce-overhead" / "trace.json.gz"
    trace.write_bytes(gzip.compress(b"this is no trace"))
    app = opened("overview", **COMPARISON)
    text = text_of(app)
    assert "266 µs" in text
    assert "trace.json.gz" in text  # the reader's own sentence
    kernels = opened("kernels", **COMPARISON)
    assert "Pass a Kineto trace" in text_of(kernels)  # and the other run is shown
    assert len(kernels.dataframe[0].value) > 0


@pytest.mark.parametrize("page", ["overview", "kernels"])
def test_a_link_that_leads_nowhere_is_a_sentence_and_a_way_on(home, page):
    app = opened(page, baseline=f"run/{HOSTILE}/eager")
    assert "There is no run" in text_of(app)
    picker = app.sidebar.selectbox[0]
    checked(picker.set_value("run/cpu").run())
    assert app.query_params["baseline"] == "run/cpu/eager"
    assert "There is no run" not in text_of(app)


def test_the_choice_survives_a_change_of_the_page(home):
    app = checked(AppTest.from_file(str(ENTRY), default_timeout=300).run())
    checked(app.sidebar.selectbox[0].set_value("run/cpu").run())
    checked(app.switch_page("../../pages/kernels.py").run())
    assert app.query_params["baseline"] == "run/cpu/eager"
    assert app.query_params["candidate"] in ("run/cpu/default", ["run/cpu/default"])


def test_baseline_and_candidate_trade_places(home):
    app = opened("overview", **COMPARISON)
    checked(app.sidebar.selectbox[1].set_value("run/cnn/reduce-overhead").run())
    assert app.query_params["baseline"] == "run/cnn/reduce-overhead"
    assert app.query_params["candidate"] in ("run/cnn/eager", ["run/cnn/eager"])


def test_comparisons_of_one_name_stay_apart_in_the_picker(home):
    shutil.copytree(home / "runs" / "cnn", home / "runs" / "cnn_again")
    app = opened("overview", **COMPARISON)
    options = app.sidebar.selectbox[0].options
    assert len(options) == len(set(options))
    checked(app.run())
    assert app.query_params["baseline"] == "run/cnn/eager"


def test_the_kernels_page_searches_and_counts(home):
    app = opened("kernels", **COMPARISON)
    everything = len(app.dataframe[0].value)
    checked(app.text_input(key="q").set_value("GEMM").run())
    found = app.dataframe[0].value
    assert 0 < len(found) < everything
    assert all("gemm" in name.lower() for name in found["whole"])
    checked(app.text_input(key="q").set_value("no such kernel").run())
    assert len(app.dataframe[0].value) == 0


def test_the_kernels_page_filters_by_kind(home):
    app = opened("kernels", **COMPARISON)
    kinds = app.multiselect(key="kind")
    checked(kinds.set_value(["convolution"]).run())
    assert set(app.dataframe[0].value["category"]) == {"convolution"}


def test_a_link_to_a_kernel_opens_its_detail(home):
    trace = open_trace(CAPTURES / "customcnn_b1.eager" / "trace.json.gz")
    name = summarise(trace).kernels[0].name
    text = text_of(opened("kernels", **COMPARISON, item=kernel_item(name).text))
    assert "Launch and occupancy" in text
    assert "Launched by" in text


def test_runs_are_listed_with_their_times_and_can_be_deleted(home):
    app = opened("runs")
    text = text_of(app)
    for word in ("266 µs", "103 µs", "reduce-overhead"):
        assert word in text
    checked(app.button(key="fs_delete_run/cpu").click().run())
    assert not (home / "runs" / "cpu").exists()
    assert (home / "runs" / "cnn").exists()
    checked(app.button(key="fs_undo").click().run())
    assert (home / "runs" / "cpu").exists()
    assert "fs_undo" not in [b.key for b in app.button]
    checked(app.button(key="fs_delete_run/cpu").click().run())
    (restore,) = (b for b in app.button if b.label == "Restore")
    checked(restore.click().run())
    assert (home / "runs" / "cpu").exists()
    checked(app.button(key="fs_delete_run/cpu").click().run())
    (for_good,) = (b for b in app.button if b.label == "Delete for good")
    checked(for_good.click().run())
    assert not list((home / "runs").glob("**/cpu"))
    assert not [b for b in app.button if b.label == "Restore"]


def test_a_run_that_was_changed_after_it_was_recorded_says_so(home):
    record = home / "runs" / "cnn" / "eager" / "run.json"
    history.record(record.parent)
    assert "changed after it was recorded" not in text_of(opened("overview", **COMPARISON))
    record.write_text(record.read_text() + " ")
    text = text_of(opened("overview", **COMPARISON))
    assert "The files of this run were changed after it was recorded" in text
    assert "run\\.json" in text  # as Markdown


def test_a_sample_has_no_delete_button(home):
    (home / "runs" / "cnn").rename(home / "cnn")
    (home / "samples").mkdir()
    (home / "cnn").rename(home / "samples" / "cnn")
    app = opened("runs")
    assert [b.key for b in app.button if "delete" in str(b.key)] == ["fs_delete_run/cpu"]


def test_a_server_path_outside_of_the_roots_is_refused_in_words(home, tmp_path):
    (home / "settings.toml").write_text(f"open_below = [{str(tmp_path / 'open')!r}]")
    (tmp_path / "open").mkdir()
    app = opened("runs")
    app.text_input[0].set_value("/etc/passwd")
    submit = next(b for b in app.button if b.label == "Open")
    checked(submit.click().run())
    assert "may not be opened" in text_of(app)


@pytest.mark.parametrize("page", ["overview", "runs"])
def test_names_from_files_are_never_html(home, page):
    for folder in (home / "runs" / "cnn" / "eager", home / "runs" / "cnn" / "reduce-overhead"):
        change_run_json(
            folder,
            workload=HOSTILE,
            variant=f"{folder.name}{HOSTILE}",
            status="failed",
            error=HOSTILE,
            environment={"gpu": HOSTILE, "torch": HOSTILE},
            created_at=HOSTILE,
        )
    app = opened(page, **({} if page == "runs" else COMPARISON))
    for element in app.get("html"):
        assert "<img" not in element.proto.body
    assert "&lt;img" in text_of(app)


def test_names_from_traces_are_never_html(home):
    folder = home / "runs" / "hostile" / "eager"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "fixtures" / "kineto" / "html_in_name.json", folder / "trace.json")
    kernels = summarise(open_trace(folder / "trace.json")).kernels
    name = next(k.name for k in kernels if "<img" in k.name or "<script" in k.name)
    app = opened("kernels", baseline="run/hostile/eager", item=kernel_item(name).text)
    assert "Launch and occupancy" in text_of(app)
    for element in app.get("html"):
        assert name not in element.proto.body


def test_the_fusion_page_places_all_time_and_opens_a_group(home):
    app = opened("fusion", **COMPARISON)
    assert " is placed" in text_of(app)
    assert "Generated code" not in text_of(app)
    # Beside a dossier 525 px are left of a window of 1280: the change is within them.
    widths = json.loads(app.dataframe[0].proto.columns)
    assert sum(widths[name]["width"] for name in ("group", "t0", "t1", "delta")) <= 525
    text = text_of(opened("fusion", **COMPARISON, item="group:1.0"))
    assert "What was generated for it is not known" in text
    assert "This match is" in text


def test_the_overview_says_where_the_difference_comes_from(home):
    app = opened("overview", **COMPARISON)
    text = text_of(app)
    for word in (
        "Where the difference comes from", "timed without the profiler", "What fusion did",
        " is placed", "What to do next", "per step",
    ):  # fmt: skip
        assert word in text
    assert not app.exception


def test_the_overview_of_a_cpu_pair_speaks_of_operators(home):
    text = text_of(opened("overview", baseline="run/cpu/eager", candidate=["run/cpu/default"]))
    assert " is placed" in text
    assert "What to do next" in text


def test_the_overview_explains_the_candidate_that_is_picked(home):
    shutil.copytree(home / "runs" / "cnn" / "eager", home / "runs" / "cnn" / "other")
    change_run_json(home / "runs" / "cnn" / "other", variant="other")
    both = ["run/cnn/reduce-overhead", "run/cnn/other"]
    app = opened("overview", baseline="run/cnn/eager", candidate=both)
    assert "What stands out in reduce-overhead" in text_of(app)
    (picker,) = (w for w in app.get("button_group") if w.key == "fs_candidate")
    checked(picker.set_value(1).run())
    assert "What stands out in other" in text_of(app)


def test_a_run_alone_has_nothing_to_explain(home):
    text = text_of(opened("overview", baseline="run/cnn/eager"))
    assert "Where the difference comes from" not in text
    assert "What fusion did" not in text


def test_a_candidate_without_a_trace_is_not_explained(home):
    (home / "runs" / "cnn" / "reduce-overhead" / "trace.json.gz").unlink()
    text = text_of(opened("overview", **COMPARISON))
    assert "Side by side" in text
    assert "What fusion did" not in text


@pytest.mark.parametrize("part", ["fusion_ledger", "findings"])
def test_what_fails_below_the_verdict_is_a_card_and_the_rest_stays(home, monkeypatch, part):
    def fail(*_):
        raise IndexError("list index out of range")

    monkeypatch.setattr(f"profiler_core.analysis.explanation.{part}", fail)
    monkeypatch.setattr("profiler_core.session.kept.load", lambda *_: None)
    SHARED.clear()
    text = text_of(opened("overview", **COMPARISON))
    SHARED.clear()  # nobody else shall meet the failure
    assert "Side by side" in text
    assert "Where the difference comes from" in text
    assert "IndexError" in text
    assert "All other numbers on this page stand" in text.replace("\\", "")
    assert ("What fusion did" in text) == (part == "findings")


def test_a_log_that_cannot_be_read_costs_neither_ledger_nor_findings(home, monkeypatch):
    def fail(*_):
        raise BadInput("The log is cut.", remedy="Copy it again.")

    monkeypatch.setattr("profiler_core.ui.reading.read_compile_log", fail)
    for run in ("eager", "reduce-overhead"):
        (home / "runs" / "cnn" / run / "torch_logs.txt").write_text("a log\n")
    text = text_of(opened("overview", **COMPARISON))
    assert text.count("The log is cut.") == 2  # one of each run, among what the numbers leave out
    assert "What fusion did" in text
    assert "What to do next" in text


def test_the_fusion_page_needs_a_candidate(home):
    app = opened("fusion", baseline="run/cnn/eager")
    assert "nothing to be matched with" in text_of(app)
