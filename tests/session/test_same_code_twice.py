"""Two recordings of one script on a busy machine: no surface takes them for two speeds.

The rounds are those of two recordings of a small training loop, made five minutes apart with the
Recorder on a machine of two CPUs that other programs used. Compared by their rounds alone the
second is 1.83 times as slow, with an interval from 1.5 to 2.2.
"""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.agents import tools
from profiler_core.answers.encoding import plain
from profiler_core.cli.main import main

FIXTURES = Path(__file__).parents[1] / "fixtures"
# Wall times of the rounds, µs, and their steps each.
FIRST = (22, (62219, 63438, 72100, 62026, 52615, 192886, 52139, 67199, 57217, 346434,
              161078, 60211, 142815, 67235, 51778, 72597, 96496, 80764, 70805, 69781))  # fmt: skip
SECOND = (18, (194032, 88324, 245234, 201049, 100940, 103387, 79171, 77831, 95232, 86317,
               52158, 54613, 164941, 81565, 139248, 126552, 110612, 101864, 106379,
               112883))  # fmt: skip
STARTED_NS = (1_795_361_684_867_000_460, 1_795_361_950_616_480_321)
LOAD = {"n_cpus": 2, "others_cpus": 1.44, "waited_share": 0.31, "load_average": 3.4}


def write(directory, timed, number, load):
    directory.mkdir(parents=True)
    n_steps, walls_us = timed
    started, rounds = STARTED_NS[number], []
    for index, wall_us in enumerate(walls_us):
        rounds.append({"index": index, "order": 0, "n_steps": n_steps, "wall_ns": wall_us * 1000,
                       "started_ns": started})  # fmt: skip
        started += wall_us * 1000
    record = {
        "run_id": directory.name, "capture_id": directory.name, "workload": "mlp",
        "name": "mlp eager", "variant": "eager", "status": "finished",
        "created_at": f"2026-11-22T15:{34 + 5 * number}:44Z",
        "spec": {"recorded": True, "compile": True}, "environment": {"cpu": "a CPU"},
        "measurement": {"rounds": rounds, "interleaved": False, "n_compilations_while_timed": 0,
                        "first_call_ns": (2 + 7 * number) * 10**9, "host_load": load},
    }  # fmt: skip
    (directory / "run.json").write_text(json.dumps(record))
    shutil.copy(FIXTURES / "torch_logs/2.13.0/b2_break_places/torch_logs.rg.txt.gz",
                directory / "torch_logs.txt.gz")  # fmt: skip
    return str(directory)


@pytest.fixture(params=["load recorded", "load not known"])
def pair(request, tmp_path, monkeypatch):
    """The slow one first, so that the other would have saved something."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    load = LOAD if request.param == "load recorded" else None
    return (
        write(tmp_path / "runs" / "20261122-153910-mlp-eager-62d1", SECOND, 1, load),
        write(tmp_path / "runs" / "20261122-153444-mlp-eager-024e", FIRST, 0, load),
    )


def answer(capsys, *words, status=0):
    assert main(list(words)) == status
    return capsys.readouterr().out


@pytest.mark.parametrize("order", [1, -1])
def test_compare_cannot_tell_them_apart(pair, order, capsys):
    (candidate,) = json.loads(answer(capsys, "compare", *pair[::order], "--json"))["candidates"]
    assert candidate["verdict"]["kind"] == "cannot_be_told"
    low, high = candidate["step_time"]["interval"]
    assert low < 1 < high
    assert candidate["compile"]["break_even_steps"] is None


@pytest.mark.parametrize("order", [1, -1])
def test_the_gate_cannot_judge(pair, order, capsys):
    gate = json.loads(answer(capsys, "gate", *pair[::order], "--json", status=3))
    assert gate["outcome"] == "cannot judge"


def test_one_interval_is_that_of_all(pair, capsys):
    (candidate,) = json.loads(answer(capsys, "compare", *pair, "--json"))["candidates"]
    gate = json.loads(answer(capsys, "gate", *pair, "--json", status=3))
    assert gate["noise"] == candidate["step_time"]["noise"]
    low, high = candidate["step_time"]["interval"]
    (check,) = gate["checks"]
    assert f"{(1 / low - 1) * 100:+.1f} %" in check["sentence"]
    assert f"{(1 / high - 1) * 100:+.1f} %".replace("-", "−") in check["sentence"]


def test_logs_do_not_say_that_compiling_paid_for_itself(pair, capsys):
    for words in (pair, pair[::-1]):
        text = answer(capsys, "logs", words[1], "--baseline", words[0])
        assert "paid for itself" not in text
        logs = json.loads(answer(capsys, "logs", words[1], "--baseline", words[0], "--json"))
        assert logs["break_even_steps"] is None
    assert logs["no_break_even"] in ("cannot be told", "costs no more", "not known")


def test_the_headline_names_both_by_when_they_were_recorded_and_the_load_first(
    pair, capsys, request
):
    headline = answer(capsys, "compare", *pair).splitlines()[0]
    assert "15:39" in headline and "15:34" in headline
    assert "runs/eager" not in headline
    if "load recorded" in request.node.name:
        load = "On a busy host (other processes kept 1.4 of 2 CPUs busy"
        assert headline.startswith(load)
    else:
        assert headline.startswith("Whether ")


def test_a_capture_without_load_and_cores_has_one_interval_everywhere(
    tmp_path, monkeypatch, capsys
):
    """As captures were before these were recorded: by their rounds alone, on each surface."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    paths = []
    for name, walls in (("eager", FIRST[1]), ("default", SECOND[1])):
        path = Path(
            write(tmp_path / "runs" / "20261121-120000-mlp-1a2b" / name, (20, walls), 0, None)
        )
        record = json.loads((path / "run.json").read_text())
        record.update(
            capture_id="20261121-120000-mlp-1a2b", variant=name, environment={"gpu": "NVIDIA H200"},
            role="baseline" if name == "eager" else "candidate", spec={"compile": name != "eager"},
        )  # fmt: skip
        measured = record["measurement"]
        measured["interleaved"] = True
        del measured["host_load"]
        for timed in measured["rounds"]:
            del timed["started_ns"]
        (path / "run.json").write_text(json.dumps(record))
        paths.append(str(path))
    (candidate,) = json.loads(answer(capsys, "compare", *paths, "--json"))["candidates"]
    step = candidate["step_time"]
    assert step["paired"] and step["noise"]["of_processes"] == pytest.approx(0.005, abs=1e-4)
    gate = json.loads(answer(capsys, "gate", *paths, "--json", status=3))
    assert gate["noise"] == step["noise"]
    (by_agent,) = plain(tools.compare(*paths))["candidates"]
    assert by_agent["step_time"] == step
    low, high = step["interval"]
    interval = f"95 % interval {low:.2f} to {high:.2f}"
    assert interval in answer(capsys, "compare", *paths)
    answer(capsys, "report", *paths, "-o", str(tmp_path / "report.md"))
    assert interval in (tmp_path / "report.md").read_text(encoding="utf-8")
