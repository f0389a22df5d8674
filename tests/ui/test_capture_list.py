"""The list of captures: the newest in sight, above whatever fills itself in late."""

import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core import home
from profiler_core.jobs import directory as job_directory
from profiler_core.jobs.directory import JobSpec, JobStatus

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))


def ended(n_jobs: int) -> None:
    """Captures of this machine that have finished, the last one the newest."""
    for index in range(n_jobs):
        job_id = f"20260102-03040{index}-00000{index}"
        directory = home.jobs_directory() / job_id
        directory.mkdir(parents=True)
        job_directory.write(
            directory,
            JobSpec(
                job_id=job_id,
                command=("true",),
                title=f"<b>model</b> {index}",
                device="cpu",
                submitted_at=time.time(),
            ),
        )
        job_directory.write(directory, JobStatus(state="finished", started_at=1.0, ended_at=2.0))


def opened() -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages" / "capture.py"), default_timeout=300).run()
    assert not app.exception
    return app


def test_nothing_is_said_of_captures_where_there_are_none():
    assert "Recent captures" not in _html(opened())


def test_the_newest_are_in_sight_and_older_ones_folded():
    ended(7)
    app = opened()
    (fold,) = [fold for fold in app.expander if fold.label == "Older ones"]
    folded = [button.label for button in fold.button]
    rows = [button.label for button in app.button if "model" in button.label]
    assert [label[-1] for label in rows] == list("6543210")
    assert [label[-1] for label in folded] == list("10")


def test_a_row_lies_above_what_grows_when_its_content_comes():
    """A row that moves under the hand is not hit: the answer about the machine comes late."""
    ended(1)
    text = _html(opened())
    assert text.index("Recent captures") < text.index("This machine")


def test_a_click_opens_the_capture():
    ended(2)
    app = opened()
    (row,) = [button for button in app.button if button.label.endswith("0")]
    app = row.click().run()
    assert app.query_params["job"] == "20260102-030400-000000"
    assert "&lt;b&gt;model&lt;/b&gt; 0" in _html(app)


def _html(app: AppTest) -> str:
    return " ".join(element.proto.body for element in app.get("html"))
