"""The critical path of real jobs, against plain JSON and against what was planted.

Jobs of two H200s: even, with 8 ms of a spinning kernel on rank 1, with 8 ms of sleep of its host.
"""

import gzip
import json
import re
from functools import cache
from statistics import median

import pytest

from profiler_core.analysis.item import rank_item
from profiler_core.analysis.measures import measures
from profiler_core.analysis.ranks.host_bound import untold_waiting
from profiler_core.analysis.step_parts import step_parts
from profiler_core.analysis.wording.ranks import without_profiler
from profiler_core.analysis.wording.step_bars import scale_notes
from profiler_core.cli.main import main
from profiler_core.session.comparison import Comparison
from profiler_core.session.job import jobs_at
from tests.analysis.ranks import plain_job
from tests.larger import FIXTURES, unpacked

JOBS = unpacked(FIXTURES / "jobs.tar.xz")
SAMPLE = FIXTURES.parent.parent / "sample_traces" / "ddp"
MS = 1e6
_SIDES = [
    *((JOBS / f"{name}-{delay}" / variant, name)
      for name in ("ddp", "fsdp", "tp") for delay in ("even", "spin", "sleep")
      for variant in ("eager", "default") if (name, delay) != ("tp", "sleep")),
    (JOBS / "fsdp-blocks-spin" / "eager", "fsdp"),
    (JOBS / "pp-spin" / "eager", "pp"),
    *((JOBS / "fsdp-blocks-sleep" / variant, "fsdp")
      for variant in ("default", "default+target-blocks")),
    (JOBS / "fsdp-blocks-even" / "default+target-blocks", "fsdp"),
    (JOBS / "tp-long-even" / "eager", "tp"),
    (JOBS / "tp-long-sleep" / "default", "tp"),
    (SAMPLE / "eager", "ddp"),
    (SAMPLE / "default", "ddp"),
]  # fmt: skip
_IDS = [f"{side.parent.name}-{side.name}" for side, _ in _SIDES]


@cache
def critical(side):
    ((placed),) = jobs_at(str(side))
    return placed.job.critical


@cache
def traces(side):
    paths = {0: side / "trace.json.gz", 1: side / "ranks" / "1" / "trace.json.gz"}
    return {rank: json.loads(gzip.open(path).read()) for rank, path in paths.items()}


@cache
def compared(folder, variant="default"):
    """Several tests ask the same pair, each for other numbers of it."""
    return Comparison.open([folder / "eager", folder / variant])


def unprofiled_ns(side):
    rounds = json.loads((side / "run.json").read_text())["measurement"]["rounds"]
    return median(r["wall_ns"] / r["n_steps"] for r in rounds)


@pytest.fixture(params=_SIDES, ids=_IDS)
def side(request):
    return request.param[0]


def test_the_parts_sum_to_the_jobs_step(side):
    path = critical(side)
    late = path.late.total_ns if path.late else 0.0
    parts = (
        sum(path.work_ns.values()), path.slowed_ns, path.slowed_by_waiting_ns, path.overlap_ns,
        sum(path.idle_ns.values()), sum(path.waited_ns.values()), late,
    )  # fmt: skip
    assert sum(parts) == pytest.approx(path.step_ns, abs=1)


def test_what_plain_json_says_too(side):
    path, files = critical(side), traces(side)
    assert path.step_ns == pytest.approx(plain_job.step_time(files) * 1e3, rel=1e-6)
    transfer = plain_job.transfer(files, path.rank) * 1e3
    assert path.work_ns["communication"] == pytest.approx(transfer, rel=1e-3)
    exposed = plain_job.exposed_transfer(files, path.rank) * 1e3
    assert path.exposed_transfer_ns == pytest.approx(exposed, abs=5)
    waited = plain_job.exposed_waiting(files, path.rank) * 1e3
    assert sum(path.waited_ns.values()) == pytest.approx(waited, abs=5)
    # Exposed communication is both: a plain union of the collectives holds the waiting too.
    union = plain_job.exposed_communication(files, path.rank) * 1e3
    assert exposed + waited == pytest.approx(union, abs=5)
    other = next(rank for rank in files if rank != path.rank)
    own_idle, other_idle = (plain_job.idle(files[rank]) * 1e3 for rank in (path.rank, other))
    late_ns = sum(path.late.idle_ns.values()) if path.late else 0.0
    assert late_ns <= max(0.0, own_idle - other_idle) + 50_000
    # The job's step ends with its slowest rank.
    at = plain_job.cuts(files[path.rank])
    after_ns = path.step_ns - (at[-1] - at[0]) / (len(at) - 1) * 1e3
    assert sum(path.idle_ns.values()) + late_ns == pytest.approx(
        own_idle + after_ns, rel=0.01, abs=50_000
    )


@pytest.mark.parametrize("name", ["ddp", "fsdp", "tp"])
@pytest.mark.parametrize("variant", ["eager", "default"])
def test_a_spinning_kernel_is_the_late_ranks_work(name, variant):
    path = critical(JOBS / f"{name}-spin" / variant)
    assert path.late.rank == 1
    assert path.late.total_work_ns == pytest.approx(8 * MS, rel=0.05)
    assert max(path.late.work_ns, key=path.late.work_ns.get) == "other"


@pytest.mark.parametrize("name", ["fsdp-blocks", "pp"])
def test_a_slow_host_under_the_profiler_does_not_hide_the_late_ranks_work(name):
    """In the traces rank 0's host comes last; without the profiler rank 1's device fills the step.

    Plain JSON: the kernel that was planted is on rank 1 alone, and all that it costs is its time.
    """
    folder = JOBS / f"{name}-spin"
    pair = compared(folder).pairs[0]
    rows = {row.key: row for row in pair.waterfall.rows}
    assert rows["late_work"].label == "waiting for rank 1: its work"
    for variant, shown in zip(
        ("eager", "default"),
        (rows["late_work"].baseline_ns, rows["late_work"].candidate_ns),
        strict=True,
    ):
        spinning = {  # one kernel in each step
            rank: median(
                [e["dur"] for e in trace["traceEvents"]
                 if e.get("cat") == "kernel" and "spin_kernel" in e["name"]] or [0.0]
            )
            for rank, trace in traces(folder / variant).items()
        }  # fmt: skip
        more = (spinning[1] - spinning[0]) * 1e3
        assert more == pytest.approx(8 * MS, rel=0.01)
        assert shown == pytest.approx(more, rel=0.05)
    assert critical(folder / "eager").rank == 0  # along which the traces alone divide it
    findings = {finding.key: finding for finding in pair.findings}
    assert findings["late_rank"].title == "The other ranks wait for rank 1."
    assert findings["late_rank"].items == (rank_item(1, 1),)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("fsdp-blocks-spin", r"takes 34\.7 ms, and rank 1's device needs 33\.9 ms of it: then the "
                             r"other waits for rank 1, which works 8\.01 ms more\."),
        ("tp-even", r"takes 46\.1 ms, less than the hosts need under it: who is late then, traces "
                    r"do not say\."),
        ("ddp-spin", ""),
        ("ddp-even", r"takes 24\.8 ms, less than the hosts need under it: who is late then, traces "
                     r"do not say\."),
    ],
)  # fmt: skip
def test_a_sentence_says_where_profiled_steps_say_otherwise(name, sentence, capsys):
    ((placed),) = jobs_at(str(JOBS / name / "eager"))
    text = without_profiler(placed.timed)
    assert re.fullmatch(f"Without the profiler a step {sentence}" if sentence else "", text)
    assert main(["ranks", str(JOBS / name / "eager")]) == 0
    assert ("Without the profiler" in capsys.readouterr().out) == bool(sentence)


def test_a_rank_that_works_more_is_not_awaited_where_hosts_leave_it_room():
    job = jobs_at(str(JOBS / "pp-spin" / "eager"))[0].job
    slack_ns = job.by_work.late_work_ns  # as much as the rank works more
    assert job.unprofiled(job.by_work.device_ns + 0.5 * slack_ns).critical.rank == 1
    assert job.unprofiled(job.by_work.device_ns + slack_ns).critical.rank == 0
    assert job.unprofiled(None) is job


def test_a_sleeping_stage_of_a_pipeline_is_late_by_its_sleep():
    folder = JOBS / "pp-sleep"
    pair = compared(folder).pairs[0]
    (row,) = (row for row in pair.waterfall.rows if row.key == "idle_late_rank")
    assert row.label == "waiting for rank 1: its host"
    assert row.baseline_ns == pytest.approx(8 * MS, rel=0.05)


def host_of_the_late_rank(folder, variant):
    """The bar of rank 1's host on the side of a variant, ns."""
    pair = compared(folder, variant).pairs[0]
    (row,) = (row for row in pair.waterfall.rows if row.key == "idle_late_rank")
    assert row.label == "waiting for rank 1: its host"
    return row.baseline_ns, row.candidate_ns


@pytest.mark.parametrize("name", ["ddp", "fsdp", "tp-long"])
def test_a_sleeping_host_costs_what_its_removal_saves(name):
    """Sleeping empties the queue too: the truth is what the same job takes without it."""
    folders = JOBS / f"{name}-sleep", JOBS / f"{name}-even"
    shown = host_of_the_late_rank(folders[0], "default")
    for variant, ns in zip(("eager", "default"), shown, strict=True):
        asleep, even = (unprofiled_ns(folder / variant) for folder in folders)
        assert ns == pytest.approx(asleep - even, rel=0.15)
        assert ns == pytest.approx(8.5 * MS, rel=0.15)  # 8 ms asleep, and the queue to fill again
        # Profiled, where the devices are the limit and not the hosts.
        asleep, even = (critical(folder / variant).step_ns for folder in folders)
        assert name != "tp-long" or ns == pytest.approx(asleep - even, rel=0.05)


@pytest.mark.parametrize(
    ("name", "variant"),
    [("fsdp", "default"), ("fsdp-blocks", "default"), ("fsdp-blocks", "default+target-blocks")],
)
def test_where_hosts_may_be_the_limit_a_sleeping_host_costs_its_sleep(name, variant):
    """What its queue takes to fill again is idle time of hosts, since it may be theirs.

    What the removal of the sleep saves differs by 4 ms from capture to capture there.
    """
    for ns in host_of_the_late_rank(JOBS / f"{name}-sleep", variant):
        assert ns == pytest.approx(8.2 * MS, rel=0.05)  # 8 ms asleep, and until it is awake


def test_no_host_is_blamed_for_what_the_profiler_adds_to_its_sleep():
    """Rank 1's host is 9 ms slower under the profiler, without any delay planted, too."""
    for delay, told_ns in (("even", 0), ("sleep", 8.2 * MS)):
        path = critical(JOBS / f"fsdp-blocks-{delay}" / "eager")
        assert path.late.total_idle_ns > told_ns + 8 * MS
        step_ns = unprofiled_ns(JOBS / f"fsdp-blocks-{delay}" / "eager")
        untold = untold_waiting(path, step_ns)["late_rank"]
        assert path.late.total_idle_ns - untold == pytest.approx(told_ns, abs=0.8 * MS)
    # With a step that leaves room for its host it would be told.
    assert "late_rank" not in untold_waiting(path, path.others_host_ns + path.late.stalled_ns + 1)


@pytest.mark.parametrize("folder", [*(JOBS / f"{name}-{delay}" for name in ("ddp", "fsdp")
                                      for delay in ("even", "spin", "sleep")),
                                    JOBS / "tp-even", JOBS / "tp-spin", JOBS / "fsdp-blocks-even",
                                    JOBS / "fsdp-blocks-sleep", SAMPLE],
                         ids=lambda folder: folder.name)  # fmt: skip
def test_the_waterfall_of_a_job(folder):
    """It sums exactly, and clocks that differ are less than 2 % of a step."""
    pair = compared(folder).pairs[0]
    waterfall = pair.waterfall
    for side in ("baseline_ns", "candidate_ns"):
        rows = {row.key: getattr(row, side) for row in waterfall.rows}
        total = getattr(waterfall, side)
        assert sum(rows.values()) == total
        assert abs(rows.get("clocks", 0)) < 0.02 * total
        # All-reduces of 302 MB take 1.4 ms between two H200s, whatever the ranks wait.
        assert 1.3 * MS < rows["communication"] < 2.6 * MS
        if folder.name.endswith("-even"):
            waiting = [key for key in rows if "late" in key or "other_ranks" in key]
            assert sum(rows[key] for key in waiting) < 0.03 * total


def test_the_note_of_clocks_names_the_rank_whose_device_it_is():
    """The page says of rank 0 that it is busy for 73 % of the step."""
    notes = compared(SAMPLE).pairs[0].waterfall.notes
    assert any(note.startswith("The device of rank 1, which the others wait for") for note in notes)


def test_an_even_regional_job_and_long_tensor_parallel_steps_wait_for_nobody():
    for name, variant in (("fsdp-blocks", "default+target-blocks"), ("tp-long", "default")):
        folder = JOBS / f"{name}-even"
        waterfall = compared(folder, variant).pairs[0].waterfall
        for side in ("baseline_ns", "candidate_ns"):
            rows = {row.key: getattr(row, side) for row in waterfall.rows}
            total = getattr(waterfall, side)
            assert sum(rows.values()) == total
            assert abs(rows.get("clocks", 0)) < 0.02 * total
            waiting = [key for key in rows if "late" in key or "wait" in key or "other_r" in key]
            assert sum(rows[key] for key in waiting) < 0.03 * total


def test_hosts_that_are_both_the_limit_are_late_by_their_difference_alone():
    """Eager tensor parallelism: rank 1's device idles for 62 of 77 ms, rank 0's host needs 65."""
    path = critical(JOBS / "tp-even" / "eager")
    ranges = [
        [end - start for start, end in plain_job.steps(t)]
        for t in traces(JOBS / "tp-even" / "eager").values()
    ]
    hosts = [sum(durations) / len(durations) * 1e3 for durations in ranges]
    assert path.late.rank == 1
    assert path.late.total_ns == pytest.approx(hosts[1] - hosts[0], rel=0.05)
    assert path.late.stalled_ns == 0
    # A step takes 46 ms unprofiled, less than either host under the profiler: nobody can be blamed.
    assert path.others_host_ns > unprofiled_ns(JOBS / "tp-even" / "eager")
    for delay in ("even", "spin"):
        pair = compared(JOBS / f"tp-{delay}").pairs[0]
        rows = {row.key: row.baseline_ns for row in pair.waterfall.rows}
        assert rows.get("idle_late_rank", 0) == rows.get("idle_other_ranks", 0) == 0
        assert any("which of them is late the traces do not say" in n for n in pair.waterfall.notes)
        late = {finding.key: finding for finding in pair.findings}.get("late_rank")
        assert (late is None) == (delay == "even")
    asleep = critical(JOBS / "ddp-sleep" / "eager").late
    assert asleep.stalled_ns == pytest.approx(8.5 * MS, rel=0.1)


def test_a_slow_batch_is_more_work_of_that_rank():
    """The sample: rank 1 has twice the batch, so it needs its own work once more."""
    path = critical(SAMPLE / "eager")
    assert path.late.rank == 1
    rows = {row.rank: row for row in jobs_at(str(SAMPLE / "eager"))[0].job.ranks}
    more = rows[1].compute_ns - rows[0].compute_ns
    # Rank 0's kernels are slowed by collectives that wait beside them: the true more is larger.
    assert more < path.late.total_work_ns < 1.2 * more


def findings_of(folder):
    pair = compared(folder).pairs[0]
    return {finding.key: finding for finding in pair.findings}, pair


def test_the_finding_names_the_late_rank_its_time_and_its_cause():
    spin, _ = findings_of(JOBS / "ddp-spin")
    late = spin["late_rank"]
    assert late.title == "The other ranks wait for rank 1."
    assert re.search(r"8\.0\d ms more work, most of it uncategorised kernels", late.evidence)
    assert late.advice.startswith("Give rank 1 as much as the others")
    assert late.prediction.basis == "measured"
    sleep, _ = findings_of(JOBS / "ddp-sleep")
    assert "longer idle, most of it other Python or C++" in sleep["late_rank"].evidence
    assert "what slows its host" in sleep["late_rank"].advice
    for name in ("ddp-even", "fsdp-even"):
        even, _ = findings_of(JOBS / name)
        assert "late_rank" not in even


def test_no_surface_counts_waiting_as_communication_or_busy():
    """Rank 0 spins for 33 ms of the sample's step; its own collectives need 1.4 ms."""
    comparison = compared(SAMPLE)
    for run in comparison.runs:
        (kernel,) = [k for k in run.summary.kernels if k.category == "communication"]
        assert kernel.time_ns / run.summary.n_steps < 1.6 * MS
        assert run.summary.by_category["communication"].time_ns / 3 < 1.6 * MS
        assert run.summary.busy_ns + run.summary.idle_ns == run.summary.window_ns
        assert any("job of 2 ranks, along rank 1" in note for note in run.summary.notes)
    ledger = comparison.pairs[0].ledger
    for side in (0, 1):
        kernels = [k for g in ledger.groups for k in (g.baseline, g.candidate)[side].kernels]
        exchanged_ns = sum(k.time_ns for k in kernels if k.category == "communication")
        assert 1.3 * MS < exchanged_ns / 3 < 1.6 * MS


def test_the_overviews_bar_and_the_table_have_one_time_for_products():
    run = compared(SAMPLE).runs[0]
    parts = step_parts(run.summary, unprofiled_ns(SAMPLE / "eager"), "unprofiled")
    assert sum(parts.by_category.values()) + parts.idle_ns == pytest.approx(parts.step_ns)
    gemm_ns = run.summary.by_category["gemm"].time_ns / run.summary.n_steps
    assert parts.by_category["gemm"] == pytest.approx(gemm_ns, rel=0.05)
    late_ns = run.summary.critical.late.total_work_ns
    assert parts.idle_ns == pytest.approx(late_ns, rel=0.05)
    assert parts.idle_ns + parts.cut_waiting_ns == pytest.approx(late_ns)
    (note,) = scale_notes(("eager",), (parts,))
    assert "the waiting for a rank is 337 µs shorter than it is" in note


def test_a_device_that_waits_is_not_busy():
    """The sample's rank 0 spins for 12 of 43 ms, while rank 1 works through twice the batch.

    Plain JSON: rank 0's kernels take 31 to 34 ms, those that its collectives slow included.
    """
    comparison = compared(SAMPLE)
    (busy,) = [row for row in measures(comparison.numbers) if row.label == "GPU busy"]
    for share, variant in zip(busy.values, ("eager", "default"), strict=True):
        launched = plain_job.launched_in_steps(traces(SAMPLE / variant)[0])
        work_us = sum(event["dur"] for _, event in launched if not plain_job.is_collective(event))
        assert 0.7 < share < work_us * 1e3 / 3 / unprofiled_ns(SAMPLE / variant) < 0.85
