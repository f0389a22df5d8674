"""A clock as the cause of a late rank: made-up jobs whose truth is known, and samples beside them.

What the clock costs is told by playing the same job without it (`mesh_job`).
"""

import json
import shutil

import pytest

from profiler_core.agents import special
from profiler_core.analysis.ranks.job import combine
from profiler_core.analysis.ranks.slow_clock import slow_clock
from profiler_core.analysis.telemetry.rank_clocks import RankClock
from profiler_core.answers.encoding import plain as as_plain
from profiler_core.cli.main import main
from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.summary_of import summary_of
from profiler_core.session.comparison import Comparison
from profiler_core.session.rank_clocks import clocks_at
from profiler_core.store import library
from tests.analysis.ranks.mesh_job import Mesh, Planted, play, step_us, write
from tests.apps import opened, text_of

US = 1e3
FULL_MHZ, LOW_MHZ = 1980, 1500
SLOWER = FULL_MHZ / LOW_MHZ
_POWER_CAP = 0x4
_BASE_NS = 1_790_000_000_000_000_000
_MESH = Mesh(4, 1, 1)
_LATE = 2


def capture(folder, planted, mhz, *, profiled_mhz=None, held=_POWER_CAP, unsampled=()):
    """A job as a capture leaves it, with samples of each rank's GPU; the step's truth in µs.

    Args:
        folder: of the run.
        planted: on one rank.
        mhz: the SM clock of each rank's GPU in the timed rounds.
        profiled_mhz: in the profiled steps; None: nothing was sampled in these.
        held: NVML's bits of GPUs below the full clock.
        unsampled: ranks without samples.
    """
    events = play(_MESH, planted)
    write(folder, _MESH, events)
    (folder / "rank0.json.gz").rename(folder / "trace.json.gz")
    for rank in range(1, _MESH.n):
        own = folder / "ranks" / str(rank)
        own.mkdir(parents=True)
        (folder / f"rank{rank}.json.gz").rename(own / "trace.json.gz")
    step_ns = round(step_us(events) * US)
    rounds = [
        {"index": 0, "order": 0, "started_ns": _BASE_NS, "wall_ns": 50 * step_ns, "n_steps": 50}
    ]
    profiled = {"started_ns": _BASE_NS + 10**12, "wall_ns": 10**9, "n_steps": 2}
    record = {
        "schema_version": 1, "workload": "made-up", "variant": folder.name, "world_size": 4,
        "measurement": {"rank_gpus": [3, 2, 1, 0], "rounds": rounds, "profiled": profiled},
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(record))
    times = {_BASE_NS + n * step_ns * 4: mhz for n in range(10)}
    times |= {_BASE_NS - 10**9: [300] * 4}  # before anything ran
    if profiled_mhz is not None:
        times |= {_BASE_NS + 10**12 + n * 10**8: profiled_mhz for n in range(5)}
    rows = [
        {"t_ns": t_ns, "gpu_index": 3 - rank, "sm_clock_mhz": clocks[rank],
         "clocks_event_reasons": held if clocks[rank] < FULL_MHZ else 0}
        for t_ns, clocks in times.items() for rank in range(4) if rank not in unsampled
    ]  # fmt: skip
    (folder / "nvml.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return events


def clocks(late, rank=_LATE):
    return [late if each == rank else FULL_MHZ for each in range(4)]


def spaced(text):
    return text.replace("\u00a0", " ")


def late_of(folder):
    files = find_ranks(str(folder))
    job = combine([summary_of(file) for file in files.files])
    job = job.at_clocks(clocks_at(str(folder), files))
    assert job.critical.rank == _LATE
    return job.critical.late


THROTTLED = Planted(_LATE, "", 0.0, SLOWER)


def test_a_lower_clock_is_told_with_what_the_job_is_shorter_without_it(tmp_path):
    events = capture(tmp_path / "eager", THROTTLED, clocks(LOW_MHZ))
    cost_us = step_us(events) - step_us(play(_MESH))
    late = late_of(tmp_path / "eager")
    assert late.clock.cost_ns == pytest.approx(cost_us * US, rel=0.01)
    assert (late.clock.mhz, late.clock.others_mhz) == (LOW_MHZ, FULL_MHZ)
    assert [(event.name, event.share) for event in late.clock.held_by] == [("SwPowerCap", 1.0)]
    assert not late.clock.is_profiled
    assert late.clock.is_cause_of(late.total_ns)


def test_more_kernels_at_a_lower_clock_are_divided(tmp_path):
    events = capture(tmp_path / "eager", Planted(_LATE, "spin", 6000.0, SLOWER), clocks(LOW_MHZ))
    clock_us = step_us(events) - step_us(play(_MESH, Planted(_LATE, "spin", 6000.0)))
    late = late_of(tmp_path / "eager")
    assert late.clock.cost_ns == pytest.approx(clock_us * US, rel=0.01)
    assert late.total_work_ns - late.clock.cost_ns == pytest.approx(6000 * US, rel=0.01)
    assert not late.clock.is_cause_of(late.total_ns)


@pytest.mark.parametrize(
    ("planted", "mhz", "unsampled"),
    [
        (THROTTLED, clocks(FULL_MHZ), ()),  # its kernels are longer for another reason
        (THROTTLED, clocks(0.98 * FULL_MHZ), ()),  # as high as the others'
        (THROTTLED, clocks(LOW_MHZ, rank=1), ()),  # another rank's clock
        (THROTTLED, clocks(LOW_MHZ), (_LATE,)),
        (THROTTLED, clocks(LOW_MHZ), (0, 1, 3)),
        (Planted(_LATE, "spin", 6000.0), clocks(LOW_MHZ), ()),  # a kernel more, none longer
        (Planted(_LATE, "sleep", 6000.0), clocks(LOW_MHZ), ()),  # its host
    ],
)
def test_what_no_clock_causes_names_none(tmp_path, planted, mhz, unsampled):
    capture(tmp_path / "eager", planted, mhz, unsampled=unsampled)
    assert late_of(tmp_path / "eager").clock is None


def test_kernels_that_lost_more_than_the_clock_can_cost_are_not_laid_on_it(tmp_path):
    capture(tmp_path / "eager", THROTTLED, clocks(0.9 * FULL_MHZ))
    late = late_of(tmp_path / "eager")
    own_us = SLOWER * (4 * (1000 + 2000) + 500)
    assert late.clock.cost_ns == pytest.approx(0.1 * own_us * US, rel=0.01)
    assert not late.clock.is_cause_of(late.total_ns)


def test_the_clocks_of_the_profiled_steps_go_first(tmp_path):
    capture(tmp_path / "a", THROTTLED, clocks(FULL_MHZ), profiled_mhz=clocks(LOW_MHZ))
    late = late_of(tmp_path / "a")
    assert late.clock.is_profiled
    assert late.clock.mhz == LOW_MHZ
    capture(tmp_path / "b", THROTTLED, clocks(LOW_MHZ), profiled_mhz=clocks(FULL_MHZ))
    assert late_of(tmp_path / "b").clock is None


@pytest.mark.parametrize(("mhz", "is_lower"), [(1921, False), (1920, True)])
def test_from_three_percent_on_a_clock_is_lower(mhz, is_lower):
    sampled = [RankClock(rank, FULL_MHZ, (), True) for rank in (0, 1)]
    lower = slow_clock(2, 10_000.0, 5_000.0, [*sampled, RankClock(2, mhz, (), True)])
    assert (lower is not None) == is_lower
    assert lower is None or lower.cost_ns == pytest.approx(10_000 * (1 - mhz / FULL_MHZ))


def test_ranks_that_a_recorder_sampled_by_themselves(tmp_path):
    """A run directory for each rank, with samples of its own GPU."""
    capture(tmp_path / "job", THROTTLED, clocks(LOW_MHZ))
    samples = (tmp_path / "job" / "nvml.jsonl").read_text().splitlines()
    record = json.loads((tmp_path / "job" / "run.json").read_text())
    record["measurement"] |= {"rank_gpus": []}
    for rank in range(4):
        own = tmp_path / "runs" / f"r{rank}"
        own.mkdir(parents=True)
        below = f"ranks/{rank}/" if rank else ""
        shutil.copy(tmp_path / "job" / below / "trace.json.gz", own / "trace.json.gz")
        (own / "run.json").write_text(json.dumps(record | {"rank": rank, "capture_id": "1"}))
        lines = [line for line in samples if json.loads(line)["gpu_index"] == 3 - rank]
        (own / "nvml.jsonl").write_text("\n".join(lines))
    assert late_of(tmp_path / "runs").clock.mhz == LOW_MHZ
    assert late_of(tmp_path / "runs" / "r0").clock.mhz == LOW_MHZ


def test_every_surface_names_the_clock(tmp_path, monkeypatch, capsys):
    for variant in ("eager", "default"):
        capture(tmp_path / "runs" / "d" / variant, THROTTLED, clocks(LOW_MHZ))
    folder = tmp_path / "runs" / "d" / "eager"
    heading = "The other 3 ranks wait for rank 2, whose GPU runs at a 24 % lower clock"
    sentence = (
        "4.00 ms of what rank 2 works more are its clock: its GPU runs at 1500 MHz while its steps "
        "run, the others (median) at 1980 MHz (24 % lower), held back to stay below the power "
        "limit in 100 % of the samples."
    )
    assert main(["ranks", str(folder)]) == 0
    text = spaced(capsys.readouterr().out)
    assert f"{heading}. " in text
    assert sentence in text
    assert main(["ranks", str(folder), "--json"]) == 0
    (of_command,) = json.loads(capsys.readouterr().out)["jobs"]
    (of_agent,) = as_plain(special.ranks(str(folder)))["jobs"]
    for answer in (of_command, of_agent):
        assert spaced(answer["headline"]) == heading
        clock = answer["critical_path"]["late"]["clock"]
        assert (clock["mhz"], clock["others_mhz"]) == (LOW_MHZ, FULL_MHZ)
        assert clock["cost_ns"] == pytest.approx(4000 * US, rel=0.01)
        assert clock["held_by"] == [{"name": "SwPowerCap", "share": 1.0}]
    pair = Comparison.open([tmp_path / "runs" / "d" / v for v in ("eager", "default")]).pairs[0]
    (finding,) = (finding for finding in pair.findings if finding.key == "late_rank")
    assert spaced(finding.evidence).endswith(sentence)
    assert "power limit, its cooling, or clocks that are set" in finding.advice
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    page = text_of(opened("ranks", baseline="run/d/eager"))
    assert "rank 2</em>, whose GPU runs at a 24 % lower clock" in page
    assert sentence in page
