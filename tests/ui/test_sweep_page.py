"""The page of sweeps, the list of them, and the way there and back."""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.jobs import directory as job_directory
from profiler_core.store import library
from profiler_core.store.sweeps import sweeps
from profiler_core.ui.capture.answers import Answers, check
from tests.apps import checked, opened, text_of
from tests.everything import comparisons

SWEEP = Path(__file__).resolve().parents[1] / "fixtures" / "sweeps" / "simplecnn_cpu"


@pytest.fixture
def empty_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    return tmp_path


@pytest.fixture
def home(empty_home):
    shutil.copytree(SWEEP, empty_home / "runs")
    return empty_home


def records(home):
    for file in (home / "runs").glob("*/*/run.json"):
        yield file, json.loads(file.read_text())


def change(home, edit):
    for file, record in records(home):
        edit(record)
        file.write_text(json.dumps(record))


def key():
    (found,) = sweeps(comparisons())
    return found.key


def sweep_of(app):
    """The sweep in the address: AppTest gives back a list of what the page wrote."""
    named = app.query_params["sweep"]
    return named if isinstance(named, str) else named[0]


def test_a_cold_link_shows_the_sweep(home):
    app = opened("sweep", sweep=key())
    said = text_of(app)
    assert "<em>default</em> pays at batch size 4, the only one that could be judged." in said
    assert "Batch size 1000000000000, every variant: out of memory." in said
    assert "DefaultCPUAllocator" in said  # the whole reason stands further down
    assert sweep_of(app) == key()
    assert len(app.get("plotly_chart")) == 4  # speed-up, step time, samples, compile time


def test_each_point_is_a_link_to_its_comparison(home):
    said = text_of(opened("sweep"))
    for group in comparisons():
        baseline = group.baseline.key.replace("/", "%2F")
        assert f"baseline={baseline}&amp;candidate=" in said
    assert said.count("target=_self") == 5


def test_without_an_address_the_newest_sweep_is_shown_and_written_there(home):
    app = opened("sweep")
    assert sweep_of(app) == key()


def test_another_sweep_is_chosen_in_the_sidebar(home):
    shutil.copytree(home / "runs", home / "more")
    for point in (home / "more").iterdir():
        point.rename(home / "runs" / f"other-{point.name}")
    (home / "more").rmdir()
    for file, record in records(home):
        if file.parts[-3].startswith("other-"):
            record["sweep"]["id"] = "other"
            file.write_text(json.dumps(record))
    app = opened("sweep", sweep=key_of("other"))
    assert sweep_of(app) == "run/other"
    for group in comparisons():  # `open RUN --page sweep`: runs alone are in the address
        of_run = opened("sweep", baseline=group.baseline.key)
        assert (sweep_of(of_run) == "run/other") == ("other-" in group.baseline.key)
        of_path = opened("sweep", baseline=library.key_of_path(group.baseline.path.resolve()))
        assert sweep_of(of_path) == sweep_of(of_run)
    (first,) = (s.key for s in sweeps(comparisons()) if s.key != "run/other")
    (control,) = app.sidebar.selectbox
    checked(control.set_value(first).run())
    assert sweep_of(app) == first


def key_of(sweep_id):
    return next(s.key for s in sweeps(comparisons()) if s.key.endswith(sweep_id))


def test_a_sweep_in_which_all_failed_has_no_empty_chart(home):
    def edit(record):
        record |= {"status": "failed", "error": "Out of memory.", "error_kind": "memory"}
        record["measurement"] = {}

    change(home, edit)
    app = opened("sweep", sweep=key())
    assert "could not be judged at any batch size." in text_of(app)
    assert "at no batch size were eager and another variant both timed" in text_of(app)
    assert app.get("plotly_chart") == []


def test_a_link_that_leads_nowhere_says_so_and_leaves_a_way_on(home):
    app = opened("sweep", sweep="run/<b>gone")
    assert "There is no sweep" in text_of(app)
    assert "<b>gone" not in text_of(app)
    assert len(app.sidebar.selectbox) == 1


def test_a_run_of_no_sweep_is_not_answered_with_another_ones(home):
    app = opened("sweep", baseline="path/tmp/elsewhere/eager")
    assert "belongs to no sweep in your library" in text_of(app)
    assert "pays at batch size" not in text_of(app)
    (control,) = app.sidebar.selectbox
    checked(control.set_value(key()).run())
    assert sweep_of(app) == key()


def test_with_no_sweep_the_page_says_how_to_make_one(empty_home):
    assert "--sweep batch-size=1,8,32,128" in text_of(opened("sweep"))


def test_names_from_files_are_never_html(home):
    hostile = "<img src=x onerror=alert(1)>"

    def edit(record):
        record["sweep"] |= {"label": hostile, "series": hostile + record["sweep"]["series"]}
        record["workload"] = hostile
        record["error"] = record["error"] and hostile

    change(home, edit)
    for page in ("sweep", "runs"):
        assert "<img" not in text_of(opened(page))


def test_a_sweep_that_runs_now_says_so(home):
    shutil.rmtree(home / "runs" / "batch-64")
    shutil.rmtree(home / "runs" / "batch-1000000000000")
    file = home / "runs" / "batch-16" / "default" / "run.json"
    record = json.loads(file.read_text())
    record["status"] = "running"  # on another host: its heartbeat says that it lives
    file.write_text(json.dumps(record))
    (file.parent / "heartbeat").touch()
    said = text_of(opened("sweep"))
    assert "being captured now: point 3 of 5" in said
    assert "not here" not in said


def test_a_baseline_alone_is_shown_without_a_verdict(home):
    for folder in (home / "runs").glob("*/default"):
        shutil.rmtree(folder)
    app = opened("sweep")
    assert "nothing to compare it with" in text_of(app)


def test_a_word_that_is_swept_has_marks(home):
    names = {1: "fp32", 4: "tf32", 16: "bf16", 64: "fp16", 1000000000000: "bf16-autocast"}

    def edit(record):
        record["sweep"] |= {
            "name": "precision", "label": "precision", "value": names[record["sweep"]["value"]],
            "values": list(names.values()),
        }  # fmt: skip

    change(home, edit)
    assert "<em>default</em> pays at precision tf32, the only one that could be judged." in text_of(
        opened("sweep")
    )


def test_sweeps_are_found_again_among_the_runs(home):
    app = opened("runs")
    said = text_of(app)
    assert "<h2 class=fs-h>Sweeps</h2>" in said
    assert "5 points" in said
    assert f"sweep?sweep={key().replace('/', '%2F')}" in said


def test_the_overview_of_a_point_leads_back_to_its_sweep(home):
    entry = library.entry("run/batch-4/eager")
    said = text_of(opened("overview", baseline=entry.key, candidate=["run/batch-4/default"]))
    assert f"sweep?sweep={key().replace('/', '%2F')}" in said


def test_the_form_makes_a_sweep_of_its_answers():
    checked_ = check(Answers(sweep="batch-size", sweep_values="1, 8,32"))
    assert checked_.spec is not None
    assert checked_.spec.sweep is not None
    assert checked_.spec.sweep.values == ("1", "8", "32")
    assert check(Answers()).spec.sweep is None


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"sweep": "batch-size", "sweep_values": ""}, "at least two values"),
        ({"sweep": "batch-size", "sweep_values": "1,x"}, "'x' is not a batch size"),
        (
            {"sweep": "batch-size", "sweep_values": "1,2", "batch_size": 8},
            "given together with a sweep",
        ),
        ({"sweep": "option.", "sweep_values": "1,2"}, "names no option"),
    ],
)
def test_a_wrong_sweep_is_said_beside_its_field(answers, said):
    found = check(Answers(**answers))
    assert found.spec is None
    assert said in found.problems["sweep"].problem


def test_the_capture_page_offers_options_and_their_examples(empty_home):
    app = opened("capture")
    (offered,) = [box for box in app.selectbox if box.label == "Repeat for several values"]
    checked(offered.set_value("batch-size").run())
    (values,) = [field for field in app.text_input if field.label == "Values"]
    assert values.placeholder == "1,8,32,128"
    checked(values.set_value("1,8").run())
    assert "--sweep=batch-size=1,8" in "\n".join(code.value for code in app.code)


def test_a_job_shows_its_points_and_leads_to_the_sweep(home):
    directory = home / "jobs" / "20261121-180000-abcdef"
    directory.mkdir(parents=True)
    said = [
        {"t": 1.0, "phase": "point", "done": 1, "total": 2, "text": "Point 1 of 2: batch size 1"},
        {"t": 4.0, "phase": "finished", "text": "Finished"},
        {"t": 4.0, "phase": "point", "done": 2, "total": 2, "text": "Point 2 of 2: batch size 4"},
        {"t": 4.5, "phase": "warm-up", "variant": "default", "text": "Warms up default"},
        {"t": 4.534, "phase": "warm-up", "variant": "default", "done": 40, "text": "40 steps"},
        {"t": 4.534, "phase": "compiling", "variant": "default", "text": "Compiles"},
        {"t": 9.0, "phase": "failed", "variant": "default", "text": "default failed"},
        {"t": 9.0, "phase": "finished", "text": "1 of 2 failed"},
        {"t": 9.0, "phase": "finished", "text": "Finished 2 points"},
    ]
    lines = [json.dumps(line) + "\n" for line in said]
    (directory / job_directory.PROGRESS).write_text("".join(lines))
    # By the first line that both have, a job knows its captures.
    (home / "runs" / "batch-1" / "progress.jsonl").write_text("".join(lines[:2]))
    spec = job_directory.JobSpec(
        job_id=directory.name, command=("true",), title="simplecnn, sweep of batch-size",
        device="cpu", submitted_at=1.0, out=str(home / "runs"),
    )  # fmt: skip
    job_directory.write(directory, spec)
    job_directory.write(directory, job_directory.JobStatus(state="finished", started_at=1.0))
    app = opened("capture", job=directory.name)
    text = text_of(app)
    assert "Point 1 of 2: batch size 1 <span class=fs-d>3.00 s</span>" in text
    assert "Point 2 of 2: batch size 4 <span class=fs-d>5.00 s · a variant failed</span>" in text
    assert "<span class=fs-took>34.0 ms</span><span class=fs-d>40 steps</span>" in text
    assert "See the sweep" in [button.label for button in app.button]
