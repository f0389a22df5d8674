"""However a loop ends: what was measured is kept, the run says why, and nothing stays on."""

import json
import subprocess
from pathlib import Path

import pytest

from profiler_core.ingest.run import open_run
from tests.quick_python import ENVIRONMENT

from .conftest import SCRIPTS, environment

pytestmark = pytest.mark.torch

ENDINGS = {
    "at once": ("failed", 0, "The loop ended after 0 steps, in the first step. No timed round"),
    "in warm-up": ("failed", 0, "The loop ended after 3 steps, in the warm-up."),
    "in rounds": ("failed", 3, "after 12 steps, in the timed rounds. 3 timed rounds are kept."),
    "in profile": ("failed", 10, "in the profiled steps. 10 timed rounds are kept."),
    "raised": ("failed", 3, "ValueError in step 13 (the timed rounds) (endings.py, line "),
    "interrupted": ("cancelled", 0, "Stopped by Ctrl-C after 30 steps, in the warm-up."),
    "exited": ("failed", 0, "The script left the loop after 3 steps"),
    "done": ("finished", 10, ""),
}


@pytest.fixture(scope="module")
def endings(tmp_path_factory, quick_python):
    done = subprocess.run(
        [quick_python, str(SCRIPTS / "endings.py"), str(tmp_path_factory.mktemp("runs"))],
        env=environment(**ENVIRONMENT),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ENDINGS)
def test_the_run_says_why_it_ended_and_keeps_its_rounds(endings, name):
    status, n_rounds, sentence = ENDINGS[name]
    record = open_run(Path(endings[name]["directory"])).record
    assert record.status == status
    assert len(record.measurement.rounds) == n_rounds
    assert sentence in (record.error or "")


@pytest.mark.parametrize("name", [*ENDINGS, "off"])
def test_nothing_stays_switched_on(endings, name):
    assert endings[name]["state"] == endings["before"]["state"]
    assert endings[name]["profiled"]
    assert endings[name]["is_done"]


@pytest.mark.parametrize("name", ENDINGS)
def test_the_users_exception_comes_through(endings, name):
    assert endings[name]["same_exception"]


@pytest.mark.parametrize("name", ENDINGS)
def test_no_half_trace_and_no_heartbeat_is_left(endings, name):
    files = [path.name for path in Path(endings[name]["directory"]).iterdir()]
    assert ("trace.json.gz" in files) == (name == "done")
    assert "heartbeat" not in files
    assert not [file for file in files if file.startswith(".")]


def test_a_recorder_that_is_off_writes_nothing(endings):
    assert endings["off"]["directory"] == "None"


def test_the_scripts_own_profiler_is_left_alone(endings):
    said = endings["profiled by the user"]
    record = open_run(Path(said["directory"])).record
    assert record.status == "finished"
    assert said["user_events"] > 100  # it saw the whole recording
    assert record.measurement.notes == (
        "The script's own profiler ran while steps were timed, and slowed them.",
        "The script's own profiler was running, so the profiled steps were left out.",
    )
