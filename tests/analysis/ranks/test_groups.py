"""Late ranks in jobs of several dimensions: only the ranks of a process group wait for each other.

The jobs are made up (`mesh_job`): what the late rank costs is told by playing them without it.
"""

import pytest

from profiler_core.analysis.job_step import profiled_job_step, unprofiled_job_step
from profiler_core.analysis.ranks.awaited import awaited, connected, waiting_groups
from profiler_core.analysis.ranks.claim import Claim, Waiting, claim_of
from profiler_core.analysis.ranks.job import combine
from profiler_core.analysis.ranks.matching import matched
from profiler_core.analysis.wording.ranks import evidence, headline
from profiler_core.analysis.wording.sentence import plain
from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.summary_of import summary_of
from profiler_core.session.comparison import Comparison
from profiler_core.units import format_duration
from tests.analysis.ranks import plain_groups
from tests.analysis.ranks.mesh_job import (
    KERNELS,
    MICROBATCHES,
    STEPS,
    TRANSFERS,
    Mesh,
    Planted,
    play,
    step_us,
    write,
)

US = 1e3
MESHES = [Mesh(4, 1, 2), Mesh(1, 1, 4), Mesh(2, 2, 2), Mesh(2, 4, 2)]


def summaries(folder):
    return [summary_of(file) for file in find_ranks(str(folder)).files]


def job_of(folder, mesh, planted=None, **more):
    traces = write(folder, mesh, play(mesh, planted, **more))
    return combine(summaries(folder)), traces


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("kind", ["spin", "sleep"])
def test_the_late_rank_is_named_with_what_the_job_is_shorter_without_it(tmp_path, mesh, kind):
    late = mesh.rank(mesh.dp - 1, 0, mesh.tp - 1)  # a later stage would fill its bubble with it
    planted = Planted(late, kind, 3000.0)
    job, _ = job_of(tmp_path, mesh, planted)
    path = job.critical
    asleep, even = step_us(play(mesh, planted)), step_us(play(mesh))
    assert path.step_ns == pytest.approx(asleep * US, rel=1e-4)
    assert job.straggler.rank == path.rank == path.late.rank == late
    late_ns = path.late.total_work_ns if kind == "spin" else path.late.total_idle_ns
    assert late_ns == pytest.approx((asleep - even) * US, rel=0.02)
    assert plain(headline(job)).endswith(f"wait for rank {late}")


@pytest.mark.parametrize("mesh", [Mesh(1, 2, 1), Mesh(1, 3, 1), Mesh(2, 2, 2)], ids=str)
@pytest.mark.parametrize("kind", ["spin", "sleep"])
@pytest.mark.parametrize("is_last", [True, False])
def test_what_fills_the_bubble_of_a_later_stage_costs_nothing(tmp_path, mesh, kind, is_last):
    late = mesh.n - 1 if is_last else mesh.rank(mesh.dp - 1, 0, 0)
    planted = Planted(late, kind, 8000.0)
    job, _ = job_of(tmp_path, mesh, planted)
    path = job.critical
    assert path.rank == late
    assert path.late.total_ns == pytest.approx(8000 * US, rel=0.01)
    cost = (step_us(play(mesh, planted)) - step_us(play(mesh))) * US
    # Transfers between the stages lengthen the bubble beyond their work.
    assert path.late.total_ns - path.late_in_bubble_ns == pytest.approx(cost, abs=250 * US)
    assert ("fill the pipeline's bubble" in evidence(job)) == is_last


def in_bubble_us(traces, mesh, late):
    """By JSON of all ranks: the bubble of a stage, and what idle time and waiting leave of it."""

    def kernels(rank):
        return [e for e in traces[rank]["traceEvents"] if e["cat"] == "kernel"]

    def work_us(rank, *names):
        return sum(e["dur"] for e in kernels(rank) if e["name"] in names) / STEPS

    others = set(mesh.group(late, "pp")) - {late}
    bubble_us = sum(work_us(rank, KERNELS["work"]) for rank in others) / MICROBATCHES
    own_us = work_us(late, *(KERNELS[kind] for kind in ("work", "spin", "optimizer")))
    between_two = {KERNELS["send"]: TRANSFERS["send"], KERNELS["allreduce"]: TRANSFERS["allreduce"]}
    own_us += sum(between_two.get(e["name"], 0.0) for e in kernels(late)) / STEPS
    ends = {
        rank: max(e["ts"] + e["dur"] for e in kernels(rank)) - min(e["ts"] for e in kernels(rank))
        for rank in traces
    }
    return bubble_us, max(0.0, bubble_us - (max(ends.values()) / STEPS - own_us))


@pytest.mark.parametrize(
    ("mesh", "kind", "is_last"),
    [
        (Mesh(1, 2, 1), "spin", True),
        (Mesh(1, 2, 1), "spin", False),
        (Mesh(1, 3, 1), "sleep", True),
    ],
)
def test_bars_and_table_leave_to_the_bubble_what_fills_it(tmp_path, mesh, kind, is_last):
    late = mesh.n - 1 if is_last else mesh.rank(mesh.dp - 1, 0, 0)
    planted = Planted(late, kind, 8000.0)
    _, _ = job_of(tmp_path / "eager", mesh)
    job, traces = job_of(tmp_path / "default", mesh, planted)
    path = job.critical
    cost_ns = (step_us(play(mesh, planted)) - step_us(play(mesh))) * US
    table = profiled_job_step(path)
    late_ns = table.parts_ns.get("late_work", 0) + table.parts_ns.get("idle_late_rank", 0)
    assert late_ns == pytest.approx(cost_ns, abs=250 * US)
    assert sum(table.parts_ns.values()) == table.step_ns
    bubble_us, _ = in_bubble_us(traces, mesh, late)
    assert table.parts_ns["idle_pipeline_bubble"] == pytest.approx(bubble_us * US, rel=0.02)
    if kind == "spin":
        filled_ns = in_bubble_us(traces, mesh, late)[1] * US
        assert path.late_in_bubble_ns == pytest.approx(filled_ns, abs=30 * US)
        assert table.parts_ns["late_work"] == pytest.approx(8000 * US - filled_ns, abs=30 * US)
    pair = Comparison.open([tmp_path / name for name in ("eager", "default")]).pairs[0]
    rows = {row.key: row for row in pair.waterfall.rows}
    assert sum(row.candidate_ns for row in rows.values()) == pair.waterfall.candidate_ns
    of_rank = [rows[key].candidate_ns for key in ("late_work", "idle_late_rank") if key in rows]
    assert sum(of_rank) == pytest.approx(late_ns, abs=2)
    assert rows["idle_pipeline_bubble"].candidate_ns == pytest.approx(
        table.parts_ns["idle_pipeline_bubble"], abs=2
    )
    # Without the profiler a step of less idle time: the bubble stays, and so does the sum.
    shorter = unprofiled_job_step(path, 0.97 * path.step_ns)
    assert sum(shorter.parts_ns.values()) == shorter.step_ns
    claim = claim_of(job.unprofiled(0.97 * path.step_ns))
    told = [shorter.parts_ns.get(key, 0) for key in ("late_work", "idle_late_rank")]
    assert claim.late_ns == pytest.approx(sum(told), abs=2)


def test_lateness_that_the_bubble_hides_whole_is_no_waiting(tmp_path):
    """The last of three stages spins for less than its bubble of two microbatches' work."""
    mesh = Mesh(1, 3, 1)
    planted = Planted(2, "spin", 2300.0)
    job, _ = job_of(tmp_path, mesh, planted)
    assert step_us(play(mesh, planted)) - step_us(play(mesh)) < 0.02 * job.step_ns / US
    assert claim_of(job) == Claim(Waiting.NONE)
    assert (
        plain(headline(job)) == "No rank waits beyond the pipeline's bubble: the 3 ranks are even"
    )
    table = profiled_job_step(job.critical)
    assert table.parts_ns.get("late_work", 0) < 0.02 * job.step_ns


def test_the_heading_the_table_and_the_waterfall_have_one_step(tmp_path):
    """32 ranks that talk along tp alone, of which a stage is stretched and one rank is late."""
    mesh = Mesh(2, 2, 8)
    planted = Planted(26, "spin", 8000.0)
    for name in ("eager", "compiled"):
        job, _ = job_of(tmp_path / name, mesh, planted, stretch={0: 1.1}, only="tp")
    path = job.critical
    assert path.rank == 26
    assert path.late.total_work_ns == pytest.approx(8000 * US, rel=0.01)
    assert path.late.total_idle_ns == 0
    # It stands in a stage that is not stretched, and so is what its work is held against.
    assert path.shown // 8 == 26 // 8
    assert sum(path.work_ns.values()) == pytest.approx(
        (4 * (1000 + 2000) + 500 + 8 * 100) * US, rel=0.01
    )
    assert job.by_work is None
    table = profiled_job_step(path)
    assert job.step_ns == table.step_ns == sum(table.parts_ns.values())
    assert f"of the step of {format_duration(table.step_ns)}" in evidence(job)
    pair = Comparison.open([tmp_path / name for name in ("eager", "compiled")]).pairs[0]
    rows = {row.key: row.baseline_ns for row in pair.waterfall.rows}
    assert sum(rows.values()) == table.step_ns
    assert rows["late_work"] == table.parts_ns["late_work"]


def ours_step_us(job, rank):
    return next(row.step_ns for row in job.ranks if row.rank == rank) / US


@pytest.mark.parametrize("mesh", [Mesh(2, 2, 2), Mesh(1, 4, 2)], ids=str)
@pytest.mark.parametrize("kind", ["", "spin"])
def test_how_long_each_rank_is_awaited_by_plain_json(tmp_path, mesh, kind):
    planted = Planted(mesh.n - 1, kind, 1500.0) if kind else None
    job, traces = job_of(tmp_path, mesh, planted, stretch={1: 1.2})
    ranks = summaries(tmp_path)
    calls = matched(ranks, ["ProfilerStep#0", "ProfilerStep#1"])
    ours = awaited(job.ranks, waiting_groups(calls, 2))
    for rank, of_groups in plain_groups.awaited(traces).items():
        least_us = 0.02 * ours_step_us(job, rank)
        late = [us for between_two, us in of_groups if not between_two and us >= least_us]
        assert ours[rank].is_late == bool(late)
        told_us = max(late or [us for _, us in of_groups])
        assert ours[rank].ns == pytest.approx(told_us * US, abs=5 * US)


def test_who_waits_in_the_end_is_told_through_further_groups(tmp_path):
    mesh = Mesh(2, 2, 2)
    job_of(tmp_path / "all", mesh)
    calls = matched(summaries(tmp_path / "all"), ["ProfilerStep#0"])
    assert connected(5, waiting_groups(calls, 1)) == (0, 1, 2, 3, 4, 6, 7)
    job_of(tmp_path / "tp", mesh, only="tp")
    calls = matched(summaries(tmp_path / "tp"), ["ProfilerStep#0"])
    assert connected(5, waiting_groups(calls, 1)) == (4,)


@pytest.mark.parametrize("mesh", [Mesh(2, 2, 2), Mesh(1, 4, 2)], ids=str)
def test_an_even_mesh_waits_for_nobody(tmp_path, mesh):
    """But for the pipeline's bubble, which has a name of its own."""
    job, _ = job_of(tmp_path, mesh)
    assert job.straggler is None
    assert job.critical.late is None
