"""A capture that failed is corrected in the form, which holds what it was asked for."""

import json
import shlex
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core import home
from profiler_core.capture.recorded_spec import recorded_spec
from profiler_core.capture.spec import CaptureSpec, parse_sweep, parse_variants
from profiler_core.jobs import directory as job_directory
from profiler_core.jobs.directory import JobSpec, JobState, JobStatus

ROOT = Path(__file__).resolve().parents[2]
JOB = "20260102-030400-000000"
SPECS = {
    "own code": CaptureSpec(
        "missing/net.py:build",
        variants=parse_variants("eager+tf32,default+dynamic+tf32,reduce-overhead+dynamic+tf32"),
        training=True,
        options=(("layers", "2"), ("width", "64")),
        device="cuda:3",
        rounds=7,
        memory=False,
        compile_target=("model.layers.*",),
        logs=("guards",),
        name="mine",
    ),
    "built-in": CaptureSpec(
        "resnet50",
        variants=parse_variants("default+fp16,eager,max-autotune+threads=4"),
        shapes=((8, 3, 32, 32), (16, 3, 32, 32)),
    ),
    "torchvision": CaptureSpec(
        "swin_t",
        variants=parse_variants("eager,aot_eager"),
        sweep=parse_sweep("batch-size=1,8,32"),
    ),
    "argument": CaptureSpec("customcnn", sweep=parse_sweep("option.layers=2,4")),
}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))


def ended(spec: CaptureSpec, state: JobState = "failed") -> None:
    directory = home.jobs_directory() / JOB
    directory.mkdir(parents=True)
    job_directory.write(
        directory,
        JobSpec(
            job_id=JOB,
            command=("true",),
            title="mine",
            device="cpu",
            submitted_at=time.time(),
            capture=json.loads(json.dumps(spec.to_dict())),
        ),
    )
    job_directory.write(directory, JobStatus(state=state, started_at=1.0, ended_at=2.0))


def opened(**query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages" / "capture.py"), default_timeout=300)
    for name, value in query.items():
        app.query_params[name] = value
    return checked(app.run())


def checked(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    return app


def asked(app: AppTest) -> list[str]:
    """The words of the command line that the page gives for its form."""
    words = [shlex.split(code.value) for code in app.code if " capture " in code.value]
    return words[0][4 : words[0].index("--out")] if words else []


@pytest.mark.parametrize("name", list(SPECS))
def test_a_spec_is_read_back_from_its_json(name: str) -> None:
    assert recorded_spec(json.loads(json.dumps(SPECS[name].to_dict()))) == SPECS[name]


def test_what_another_version_wrote_is_no_spec() -> None:
    assert recorded_spec({"workload": "bert", "variants": ["quickest"]}) is None
    assert recorded_spec({"variants": None}) is None


@pytest.mark.parametrize("name", ["built-in", "torchvision", "argument"])
def test_behind_a_link_the_form_asks_for_what_failed(name: str) -> None:
    """It held the first form, beside “correct it in the form”."""
    ended(SPECS[name])
    assert asked(opened(job=JOB)) == SPECS[name].to_argv()


def test_a_file_that_is_missing_is_named_in_the_form_and_all_else_is_there(tmp_path: Path) -> None:
    ended(SPECS["own code"])
    app = opened(job=JOB)
    assert app.text_input(key="fs_c_own").value == "missing/net.py:build"
    file = tmp_path / "net.py"
    file.write_text("def build():\n    ...\n")
    app = checked(app.text_input(key="fs_c_own").set_value(f"{file}:build").run())
    words = asked(app)
    assert words[0] == f"{file}:build"
    assert words[1:] == SPECS["own code"].to_argv()[1:]
    # Modifiers that all variants share are those of the form, not typed words.
    assert app.text_input(key="fs_c_variants").value == ""


def test_a_capture_that_ended_well_leaves_the_form_as_it_was() -> None:
    ended(SPECS["built-in"], "finished")
    assert asked(opened(job=JOB)) == CaptureSpec("customcnn").to_argv()


def test_a_form_that_somebody_fills_in_is_filled_on_request_only() -> None:
    ended(SPECS["built-in"])
    app = opened()
    app.selectbox(key="fs_c_built_in").set_value("bert").run()
    (row,) = [button for button in app.button if button.label == "mine"]
    app = checked(row.click().run())
    assert asked(app)[0] == "bert"
    (fill,) = [button for button in app.button if button.label == "Fill the form with it"]
    assert asked(checked(fill.click().run())) == SPECS["built-in"].to_argv()
