"""`telemetry` and the telemetry of `compare` and `summary`, on the repository's own samples."""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
EAGER = ROOT / "sample_traces" / "resnet50" / "eager"
JSON = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def own_home(home_with_columns):
    """Each test has its own."""


def answer(capsys, *words):
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_the_profiler_sampled(capsys):
    trace = ROOT / "tests" / "fixtures" / "kineto" / "real" / "pm_sampling.json"
    memory, busy = answer(capsys, "telemetry", trace)["metrics"]
    assert (memory["name"], memory["lowest"], memory["highest"]) == ("DRAM BW (%)", 3.0, 52.25)
    assert busy == {
        "name": "SM Active (%)", "device": 0, "n_samples": 3, "period_ns": 1e6,
        "mean": pytest.approx(211 / 3), "median": 88.5, "lowest": 25.5, "highest": 97.0,
    }  # fmt: skip
    assert main(["telemetry", str(trace)]) == 0
    assert "SM Active (%)" in capsys.readouterr().out


def test_a_run_in_words(capsys):
    assert main(["telemetry", str(EAGER)]) == 0
    out = capsys.readouterr().out
    assert "telemetry phase: 3.10 s, 589 steps" in out
    for word in ("resnet50 eager", "2.87 J", "± 1.7 %", "Nothing held", "from their deadline"):
        assert word in out


def independent_energy_per_step():
    """Another route: a straight line through all counter values of the phase, least squares."""
    phase = json.loads((EAGER / "run.json").read_text())["measurement"]["telemetry"]
    rows = [json.loads(line) for line in (EAGER / "nvml.jsonl").read_text().splitlines()]
    points = [((r["t_ns"] - phase["started_ns"]) / 1e9, r["energy_mj"] / 1e3) for r in rows]
    points = [(t, e) for t, e in points if t >= 0]
    mean_t = sum(t for t, _ in points) / len(points)
    mean_e = sum(e for _, e in points) / len(points)
    power = sum((t - mean_t) * (e - mean_e) for t, e in points) / sum(
        (t - mean_t) ** 2 for t, _ in points
    )
    return power * phase["wall_ns"] / 1e9 / phase["n_steps"]


def test_a_run_as_json(capsys):
    found = answer(capsys, "telemetry", EAGER)
    assert found["schema"] == 1
    by_hand = independent_energy_per_step()
    error = found["energy_error_fraction"]
    assert found["energy_per_step_j"] == pytest.approx(by_hand, rel=2 * error)
    assert found["energy_per_sample_j"] == pytest.approx(found["energy_per_step_j"] / 32)
    assert found["clock_events"] == []
    assert found["n_samples_by_phase"] == {"timing": 0, "telemetry": 61, "profiled": 0, "none": 1}
    assert found["jitter"]["max_ns"] < 1_000_000
    assert found["host"] is None


def test_each_key_is_in_json_md(capsys):
    found = answer(capsys, "telemetry", EAGER)
    assert {key for key in {*found, *found["jitter"]} if f"`{key}`" not in JSON} == set()


def test_samples_alone(tmp_path, capsys):
    shutil.copy(EAGER / "nvml.jsonl", tmp_path / "samples.txt")
    found = answer(capsys, "telemetry", tmp_path / "samples.txt")
    assert (found["phase"], found["energy_per_step_j"]) == ("whole file", None)
    assert found["power_w"] == pytest.approx(546, abs=2)
    assert "counted" in found["reasons"]["energy_per_step_j"]


def test_a_short_file_says_too_short(tmp_path, capsys):
    lines = (EAGER / "nvml.jsonl").read_text().splitlines()[:6]
    (tmp_path / "short.jsonl").write_text("\n".join(lines))
    assert main(["telemetry", str(tmp_path / "short.jsonl")]) == 0
    out = capsys.readouterr().out
    assert out.count("Too short") >= 4
    assert "0.25 s" in out


def test_without_samples_there_is_a_sentence_and_no_traceback(tmp_path, capsys):
    fixture = ROOT / "tests" / "fixtures" / "captures" / "breaky.eager"
    assert main(["telemetry", str(fixture)]) in (2, 3)
    assert "holds no samples" in capsys.readouterr().err
    (tmp_path / "nvml.jsonl").write_text('{"t_ns": 1, "gpu_index": "x"}\n')
    assert main(["telemetry", str(tmp_path / "nvml.jsonl")]) in (2, 3)
    assert "holds no sample: none of its 1 lines" in capsys.readouterr().err


def test_a_run_of_several_ranks_says_why_it_has_none(tmp_path, capsys):
    run = {"world_size": 4, "measurement": {}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    assert main(["telemetry", str(tmp_path)]) in (2, 3)
    said = capsys.readouterr().err
    assert "several ranks (4 here) has no telemetry phase" in said and "one rank" in said


def test_compare_has_energy_and_fairness(capsys):
    found = answer(capsys, "compare", EAGER, EAGER.parent / "default")
    (candidate,) = found["candidates"]
    assert candidate["fairness"]["fair"] is True
    assert candidate["energy_per_step_j"] == pytest.approx([2.87, 1.67], abs=0.01)
    assert candidate["telemetry"]["sm_clock_mhz"] == 1980
    assert found["baseline"]["telemetry"]["power_w"] == pytest.approx(546, abs=1)
    assert "at the same clocks" in " ".join(candidate["verdict"]["details"])


def test_summary_has_telemetry(capsys):
    assert answer(capsys, "summary", EAGER)["telemetry"]["energy_per_step_j"] > 2
