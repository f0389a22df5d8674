"""The ledger of a job: sums over ranks against plain JSON, and what one rank alone needs longer."""

import json
from dataclasses import replace

import pytest

from profiler_core.analysis.ranks.job_ledger import Spread, job_ledger
from profiler_core.analysis.work import device_work
from profiler_core.cli.main import main
from profiler_core.session.comparison import Comparison
from tests.analysis.ranks import plain_job
from tests.analysis.ranks.test_critical_path import JOBS, SAMPLE, traces

MS = 1e6


def a_pair(folder):
    return Comparison.open([folder / "eager", folder / "default"]).pairs[0]


@pytest.mark.parametrize("name", ["ddp-even", "tp-even"])
@pytest.mark.parametrize("side", [0, 1])
def test_group_times_on_every_rank_are_those_of_plain_json(name, side):
    """Groups are given by the shown rank; times on both ranks are worked out without our code."""
    pair = a_pair(JOBS / name)
    ledger, job, run = pair.ledger, pair.job_ledger, pair.runs[side]
    assert job.own_ledgers == () and job.foreign == ()
    files, shown = traces(run.path), run.job.critical.shown
    # The n-th event of the shown rank's file is the n-th row before waiting moved it: by its end.
    trace = pair.runs[side].of_rank(shown).trace
    rows = device_work(run.worked_trace)
    groups = (ledger.baseline_group, ledger.candidate_group)[side]
    by_correlation = {
        (row["correlation"], row["name"]): int(groups[number])
        for number, row in enumerate(rows.select("correlation", "name").iter_rows(named=True))
    }
    labels = {
        (event["ts"], event["name"]): by_correlation[event["args"]["correlation"], event["name"]]
        for _, event in plain_job.launched_in_steps(files[shown])
    }
    assert trace.n_events
    for rank in (0, 1):
        plain = plain_job.group_times(files, labels, rank, shown)
        ours = {
            group.group: (group.baseline, group.candidate)[side].by_rank[rank] / 1e3
            for group in job.groups
        }
        assert set(plain) <= set(ours)
        for number, us in ours.items():
            assert us == pytest.approx(plain.get(number, 0.0), rel=1e-4, abs=0.05)


@pytest.mark.parametrize("name", ["ddp-even", "ddp-spin", "fsdp-spin", "tp-spin"])
def test_every_ranks_groups_sum_to_its_device_time(name):
    """Also of a rank with a ledger of its own."""
    pair = a_pair(JOBS / name)
    for side, run in enumerate(pair.runs):
        spreads = [(g.baseline, g.candidate)[side] for g in pair.job_ledger.groups]
        for rank in (0, 1):
            work = device_work(run.worked_trace_of(rank))
            total = work.filter(work["step"].is_not_null())["dur_ns"].sum() / run.job.n_steps
            assert sum(s.by_rank[rank] for s in spreads) == pytest.approx(total, abs=1)
        shown = sum(group.per_step((group.baseline, group.candidate)[side].time_ns, side)
                    for group in pair.ledger.groups)  # fmt: skip
        of_shown = sum(s.by_rank[run.job.critical.shown] for s in spreads)
        assert of_shown == pytest.approx(shown, abs=1)


@pytest.mark.parametrize("name", ["ddp-spin", "fsdp-spin", "tp-spin"])
def test_a_planted_kernel_is_a_group_of_that_rank_alone(name):
    job = a_pair(JOBS / name).job_ledger
    assert job.own_ledgers == (1,)
    for side in (0, 1):
        first = job.slower(side)[0]
        assert first.title.startswith("spin_kernel")
        assert (first.group, first.is_only_there, first.spread.slowest) == (None, True, 1)
        assert first.spread.excess_ns == pytest.approx(8 * MS, rel=0.01)
    assert sum(1 for _ in job.foreign) == 1


def test_even_ranks_have_no_group_that_is_slower_on_one():
    for name in ("ddp-even", "tp-even"):
        pair = a_pair(JOBS / name)
        device_ns = sum(g.candidate_step_ns for g in pair.ledger.groups)
        more = sum(slower.spread.excess_ns for slower in pair.job_ledger.slower(1))
        assert more < 0.01 * device_ns
        assert all(finding.key != "slow_on_one_rank" for finding in pair.findings)


def test_twice_the_batch_runs_the_same_operators_with_other_kernels():
    """The sample's rank 1 gets the groups operator by operator: no ledger of its own."""
    job = a_pair(SAMPLE).job_ledger
    assert job.own_ledgers == () and job.foreign == ()
    linear = next(s for s in job.slower(1) if s.title == "linear")
    assert linear.spread.slowest == 1
    assert linear.spread.by_rank[1] == pytest.approx(2 * linear.spread.by_rank[0], rel=0.12)


def test_the_finding_the_text_and_the_json_name_rank_and_time(capsys):
    folder = JOBS / "ddp-spin"
    pair = a_pair(folder)
    finding = next(f for f in pair.findings if f.key == "slow_on_one_rank")
    assert finding.title == "Rank 1 alone needs longer for some of its work."
    assert "spin_kernel 8.00 ms (only there)" in finding.evidence
    assert finding.at_stake_ns is None  # the late rank's finding has it
    words = ["compare", str(folder / "eager"), str(folder / "default")]
    assert main(words) == 0
    text = capsys.readouterr().out
    (line,) = (line for line in text.splitlines() if line.startswith("spin_kernel     ")
               and " default " in line)  # fmt: skip
    assert "  1  8.00 ms" in line
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["candidates"][0]["fusion"]["over_ranks"]
    assert told["ranks"] == [0, 1] and told["own_ledgers"] == [1]
    assert {slower["side"] for slower in told["slower"]} == {"baseline", "candidate"}
    planted = told["groups"][-1]
    assert planted["group"] is None
    assert planted["candidate"]["total_ns"] == pytest.approx(8 * MS, rel=0.01)
    assert (planted["candidate"]["least_ns"], planted["candidate"]["slowest"]) == (0, 1)


def test_the_finding_leads_to_the_group_that_it_names_first():
    pair = a_pair(SAMPLE)
    finding = next(f for f in pair.findings if f.key == "slow_on_one_rank")
    first = finding.items[0]
    assert first.kind == "group" and first.numbers[0] == 1
    assert "24 × linear" in finding.evidence.split(":")[1].split(",")[0]
    assert pair.ledger.groups[first.numbers[1]].title == "linear"


def test_one_rank_is_slower_only_where_no_other_is_nearly():
    assert Spread({0: 10.0, 1: 10.0, 2: 20.0}).is_of_one_rank
    assert not Spread({0: 10.0, 1: 19.0, 2: 20.0, 3: 10.0}).is_of_one_rank
    spread = Spread({0: 4.0, 1: 1.0, 2: 2.0})
    assert (spread.total_ns, spread.least_ns, spread.median_ns, spread.most_ns) == (7, 1, 2, 4)
    assert (spread.slowest, spread.excess_ns) == (0, 2.5)


def test_stages_with_other_programs_keep_their_own_groups():
    """Rank 1 runs half of the program: what it lacks is 0 there, and nothing is lost."""
    pair = a_pair(JOBS / "tp-even")
    sides = pair._sides_of_rank(0)

    def half(side):
        work = device_work(side.trace)
        late = work["ts_ns"] > work["ts_ns"].median()
        return replace(side, trace=replace(side.trace, device=side.trace.device.filter(late)))

    stage = (half(sides[0]), half(sides[1]))
    job = job_ledger(pair.ledger, (0, 0), sides, (0, 1), lambda rank, with_logs: stage, 4)
    assert job.own_ledgers == (1,)
    assert len(job.notes) == 2 and "2 of 4 ranks" in job.notes[0]
    for side in (0, 1):
        work = device_work(stage[side].trace)
        inside = work.filter(work["step"].is_not_null())
        total = inside["dur_ns"].sum() / 3
        spreads = [(group.baseline, group.candidate)[side] for group in job.groups]
        assert sum(s.by_rank[1] for s in spreads) == pytest.approx(total, abs=1)
        assert any(s.by_rank[0] and not s.by_rank[1] for s in spreads)


def test_what_could_not_be_read_is_said():
    pair = a_pair(JOBS / "tp-even")
    sides = pair._sides_of_rank(0)
    job = job_ledger(pair.ledger, (0, 0), sides, (0, 1), lambda rank, with_logs: None, 2)
    assert job.ranks == (0,)
    assert job.notes == ("The kernels of rank 1 could not be read for the ledger.",)
    assert job.slower(1) == ()
