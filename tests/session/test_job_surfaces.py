"""Use and energy of a job of ranks leave waiting out, on every surface that shows them.

Two copies of the shipped job, whose GPUs draw 400 W (rank 0, which waits) and 300 W.
"""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.agents import special
from profiler_core.analysis.item import group_item, module_item
from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.wording.first_lines import fusion_line
from profiler_core.answers.encoding import plain
from profiler_core.cli.main import main
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.store import history
from profiler_core.units import format_duration

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "ddp"
_START_NS, _WALL_NS, _N_STEPS = 1_800_000_000_000_000_000, 3_000_000_000, 60
_WATTS = (400, 300)
_STEP_J = sum(_WATTS) * 3 / _N_STEPS


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    for variant in ("eager", "default"):
        shutil.copytree(SAMPLE / variant, folder / variant)
        path = folder / variant / "run.json"
        record = json.loads(path.read_text())
        phase = {"started_ns": _START_NS, "wall_ns": _WALL_NS, "n_steps": _N_STEPS}
        record["measurement"] |= {"rank_gpus": [0, 1], "telemetry": phase}
        path.write_text(json.dumps(record))
        rows = [
            {"t_ns": _START_NS + at * 50_000_000, "gpu_index": gpu, "utilization_gpu_pct": 100,
             "power_w": watts, "energy_mj": at // 2 * watts * 100, "sm_clock_mhz": 1980}
            for at in range(-4, 70) for gpu, watts in enumerate(_WATTS)
        ]  # fmt: skip
        (folder / variant / "nvml.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder / "eager", folder / "default"


def printed(capsys, *words):
    assert main([*map(str, words)]) in (0, 1, 3)
    return capsys.readouterr().out


def test_energy_is_that_of_all_ranks_gpus(pair, capsys):
    """`compare`, agents, gate, history, `telemetry`: one sum, although one GPU only waits."""
    (candidate,) = json.loads(printed(capsys, "compare", *pair, "--json"))["candidates"]
    gate = json.loads(printed(capsys, "gate", *pair, "--max-energy", "+500%", "--json"))
    (check,) = (one for one in gate["checks"] if one["quantity"] == "energy")
    told = {
        "compare --json": candidate["energy_per_step_j"],
        "agents": [plain(special.telemetry(str(path)))["energy_per_step_j"] for path in pair],
        "gate": [check["baseline"], check["candidate"]],
        "history": [history.record(path).metrics.energy_per_step_j for path in pair],
        "telemetry --json": [
            json.loads(printed(capsys, "telemetry", path, "--json"))["energy_per_step_j"]
            for path in pair
        ],
    }
    for surface, values in told.items():
        assert values == pytest.approx([_STEP_J, _STEP_J], rel=0.02), surface


def test_no_surface_has_a_utilisation_that_counts_waiting(pair, capsys):
    """NVML says 100 % of both GPUs, of which one waits for a quarter of the step."""
    for path in pair:
        answer = json.loads(printed(capsys, "telemetry", path, "--json"))
        assert answer["utilization_gpu_pct"] is None
        assert "waits for another rank" in answer["reasons"]["utilization_gpu_pct"]
    comparison = Comparison.open(pair)
    for number, run in enumerate(comparison.runs):
        path, summary = run.job.critical, comparison.sides[number].summary
        assert path.late_work_ns > 0.2 * path.step_ns, "else this test shows nothing"
        works_ns = path.busy_ns - path.late_work_ns
        assert summary.busy_fraction == pytest.approx(works_ns / path.step_ns, rel=0.001)
        assert summary.busy_fraction < 0.8


def test_a_group_that_one_rank_needs_longer_for_says_so() -> None:
    """Its row said "24 × linear, rank 1, 5.75 ms more", and led to one of 6 with no rank's time."""
    comparison = Comparison.open([SAMPLE / "eager", SAMPLE / "default"])
    job = comparison.pairs[0].job_ledger
    assert job is not None
    rows = job.slower(1)
    assert rows
    for row in rows:
        numbers = [n for n, group in enumerate(job.groups) if group.title == row.title]
        by_rank = {
            rank: sum(job.groups[n].candidate.by_rank[rank] for n in numbers) for rank in job.ranks
        }
        assert row.group is not None
        about = dossier(comparison, group_item(1, row.group)).about
        (told,) = [text for text in about if "On rank 1" in text and " in default" in text]
        assert f"take {format_duration(by_rank[1])} per step in default" in told or row.n == 1
        assert f"{format_duration(by_rank[1] - by_rank[0])} more than the median" in told


def test_a_module_of_several_calls_says_how_many() -> None:
    """ "norm1: 191 → 117 µs per step" was that of six blocks."""
    comparison = Comparison.open([SAMPLE / "eager", SAMPLE / "default"])
    about = dossier(comparison, module_item("norm1")).about
    assert "6 calls per step fall together in it: no file says of which modules they are." in about


def test_the_first_line_says_that_small_changes_are_left_out() -> None:
    """ "Most is lost in … (+34.5 µs)" stood above six equal groups that lost 45.6 µs, 3 %."""
    (pair,) = Comparison.open([SAMPLE / "eager", SAMPLE / "default"]).pairs
    groups = fold(pair.ledger.groups)
    line = fusion_line(pair.labels, groups, "GPU time")
    assert line.endswith(", of groups that change by 5 % or more.")
    told = [group for group in groups if f"{group.title} (" in line and group.delta_ns > 0]
    assert max(group.delta_ns for group in groups) > max(group.delta_ns for group in told)
