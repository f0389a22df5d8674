"""The fields of a recording of Nsight Systems: what is chosen holds for the file from then on."""

import pytest

from profiler_core.ingest.fingerprint import fingerprint
from profiler_core.ingest.formats import trace_format
from profiler_core.ingest.options import chosen
from profiler_core.session import run as session_run
from profiler_core.store import library
from profiler_core.ui import reading
from tests.apps import opened, text_of
from tests.ingest.nsight_systems.build import PID, a_loop, global_id


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for name, n_halves in (("eager", 6), ("compiled", 0)):
        export = a_loop()
        for n in range(n_halves):
            export.push(1_002_000 + n * 50_000, 1_003_000 + n * 50_000, "half <b>")
        if n_halves:
            export.call(1_000, 500, "cudaLaunchKernel_v7000", 1, 7, pid=99)
            export.kernel(2_000, 3_000, "other", 1, globalPid=global_id(99))
        folder = tmp_path / "runs" / "job" / name
        folder.mkdir(parents=True)
        export.write(folder / "trace.sqlite")
        (folder / "run.json").write_text(f'{{"run_id": "{name}", "name": "{name}"}}')
    return tmp_path


@pytest.fixture
def read_home(home, columns):
    """The same, where the recordings are read once for all tests that are not about the reading."""
    (home / "cache").symlink_to(columns)
    return home


NSIGHT = trace_format("nsight_systems")
RUNS = {"baseline": "run/job/eager", "candidate": ["run/job/compiled"]}


def field(app, start):
    return next(box for box in app.selectbox if box.label.startswith(start))


def test_the_steps_of_a_recording_can_be_chosen_on_the_page(read_home):
    app = opened("overview", **RUNS)
    assert "steps are the NVTX ranges “step #”" in text_of(app)
    steps = field(app, "Steps of eager")
    assert steps.options == ["chosen by the rule: step #", "half <b> · 6 times", "step # · 3 times"]
    steps.set_value("half <b>").run()
    assert not app.exception
    trace = read_home / "runs" / "job" / "eager" / "trace.sqlite"
    assert chosen(NSIGHT, fingerprint(trace)) == {"step_range": "half <b>"}
    assert "steps are the NVTX ranges “half" in text_of(app)
    # A new visit has it too, and the other run keeps its own.
    again = opened("overview", **RUNS)
    assert field(again, "Steps of eager").value == "half <b>"
    assert field(again, "Steps of compiled").value == "chosen by the rule"
    field(again, "Steps of eager").set_value("chosen by the rule").run()
    assert chosen(NSIGHT, fingerprint(trace)) == {}


def test_a_choice_leaves_what_was_computed_of_other_files(home, monkeypatch):
    app = opened("overview", **RUNS)
    before = text_of(app)
    computed = []
    summarised = session_run.summarise
    monkeypatch.setattr(
        session_run, "summarise", lambda *a: computed.append(a[0].source) or summarised(*a)
    )
    loaded = reading.traces.load_cached
    monkeypatch.setattr(
        reading.traces, "load_cached", lambda path: computed.append(path) or loaded(path)
    )
    field(app, "Steps of eager").set_value("half <b>").run()
    assert text_of(app) != before
    trace = home / "runs" / "job" / "eager" / "trace.sqlite"
    assert computed == [trace, "trace.sqlite"]  # the one file, once; the candidate's was kept
    # Back to what was looked at before: nothing is computed a second time.
    field(app, "Steps of eager").set_value("chosen by the rule").run()
    assert computed == [trace, "trace.sqlite"]
    assert text_of(app) == before


def test_another_process_can_be_chosen_on_the_page(read_home):
    app = opened("overview", **RUNS)
    process = field(app, "Process of eager")
    assert process.value == PID
    process.set_value(99).run()
    assert not app.exception
    assert f"shown is 99, not {PID}" in text_of(app)


@pytest.mark.parametrize("page", ["kernels", "timeline", "fusion", "memory", "compilation"])
def test_every_page_opens_with_recordings(read_home, page):
    assert text_of(opened(page, **RUNS))
