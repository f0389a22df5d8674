"""A real sweep on the CPU, from the command line: one point fails, the others are kept."""

import json
import subprocess
from pathlib import Path

import pytest

from profiler_core.ingest.run import open_run
from tests.quick_python import variables

from .conftest import TINY
from .test_capture_cli import QUICK, command, run

pytestmark = [pytest.mark.torch, pytest.mark.timeout(600)]

# An input of this batch cannot be allocated by any machine.
TOO_LARGE = 10**13
# dynamo's own eager backend: a compiled variant that costs no compiler's seconds.
VARIANTS = "--variants=eager,backend:eager"


@pytest.fixture(scope="module")
def swept(tmp_path_factory, quick_python):
    home = tmp_path_factory.mktemp("home")
    progress = home / "progress.jsonl"
    done = run(
        home, "capture", f"{TINY}:model", VARIANTS, f"--sweep=batch=4,{TOO_LARGE},8", *QUICK,
        "--rounds=5", f"--progress={progress}", "--json", **variables(quick_python),
    )  # fmt: skip
    return home, done, [json.loads(line) for line in progress.read_text().splitlines()]


def test_what_failed_is_recorded_with_its_reason_and_the_others_go_on(swept):
    _, done, _ = swept
    assert done.returncode == 3, done.stderr
    answer = json.loads(done.stdout)
    statuses = [[run["status"] for run in one["runs"]] for one in answer["captures"]]
    assert statuses == [["finished"] * 2, ["failed"] * 2, ["finished"] * 2]
    failed = open_run(Path(answer["captures"][1]["runs"][0]["directory"])).record
    assert failed.error.startswith("Out of memory in ")
    assert failed.error_kind == "memory"


def test_each_point_is_a_comparison_with_its_place_in_the_sweep(swept):
    _, done, _ = swept
    answer = json.loads(done.stdout)
    for index, (value, capture) in enumerate(
        zip((4, TOO_LARGE, 8), answer["captures"], strict=True)
    ):
        for written in capture["runs"]:
            record = open_run(Path(written["directory"])).record
            assert record.sweep is not None
            assert (record.sweep.value, record.sweep.index) == (value, index)
            assert record.sweep.id == answer["sweep_id"]
            assert record.sweep.series == written["variant"]
            assert record.spec["batch_size"] == value


def test_the_result_is_sorted_by_value_and_judged(swept):
    _, done, _ = swept
    result = json.loads(done.stdout)["result"]
    assert [point["value"] for point in result["points"]] == [4, 8, TOO_LARGE]
    (series,) = result["series"]
    judged = {*series["crossing"]["paying"], *series["crossing"]["not_paying"]}
    # Five rounds on a busy machine may tell of neither.
    verdicts = {point["value"]: point["variants"][1]["verdict"] for point in result["points"][:2]}
    assert judged == {value for value in (4, 8) if verdicts[value] != "cannot_be_told"}
    assert [v["out_of_memory"] for v in result["points"][2]["variants"]] == [True, True]
    for point in result["points"][:2]:
        for variant in point["variants"]:
            assert variant["step_time_ns"] > 0
            assert variant["samples_per_s"] == pytest.approx(
                point["value"] * 1e9 / variant["step_time_ns"], rel=1e-3
            )


def test_the_progress_counts_the_points(swept):
    _, done, said = swept
    points = [(line["done"], line["total"]) for line in said if line["phase"] == "point"]
    assert points == [(1, 3), (2, 3), (3, 3)]
    assert said[0]["text"] == "Point 1 of 3: batch size 4"
    assert said[-1]["phase"] == "finished"
    assert said[-1]["text"] == "Finished 3 points; 2 of 6 runs failed"
    assert "[2/3] " in done.stderr
    # By its first line a job finds the first point, and by that the sweep.
    first = Path(json.loads(done.stdout)["captures"][0]["directory"]) / "progress.jsonl"
    assert json.loads(first.read_text().splitlines()[0]) == said[0]


def test_the_verb_reads_it_back(swept):
    home, done, _ = swept
    answer = json.loads(done.stdout)
    again = run(home, "sweep", answer["captures"][1]["directory"], "--json")
    assert again.returncode == 0, again.stderr
    assert {k: v for k, v in json.loads(again.stdout).items() if k != "schema"} == answer["result"]


def test_to_cancel_ends_the_sweep_and_keeps_what_was_measured(tmp_path, quick_python):
    argv, environment = command(
        tmp_path, "capture", f"{TINY}:model", "--variants=eager", "--sweep=batch=4,8", *QUICK,
        **variables(quick_python),
    )  # fmt: skip
    with subprocess.Popen(
        argv, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "Point 2 of 2" in line:
                process.terminate()
                break
        process.communicate(timeout=120)
    assert process.returncode == 130
    folders = sorted((tmp_path / "runs").iterdir())
    statuses = [open_run(folder / "eager").record.status for folder in folders]
    assert statuses == ["finished", "cancelled"]
