"""Who waits for whom is one decision: headline, table, command, JSON, agents and the page."""

import json
import shutil
from dataclasses import replace

import pytest

from profiler_core.agents import special
from profiler_core.analysis.job_step import profiled_job_step, unprofiled_job_step
from profiler_core.analysis.ranks.claim import Claim, Waiting, claim_of
from profiler_core.analysis.ranks.comparison import measures
from profiler_core.analysis.wording.ranks import evidence, headline
from profiler_core.analysis.wording.sentence import plain
from profiler_core.answers.encoding import plain as as_plain
from profiler_core.cli.main import main
from profiler_core.session.job import jobs_at
from profiler_core.store import library
from tests.analysis.ranks.test_critical_path import JOBS, MS, compared
from tests.apps import opened, text_of

_UNTOLD = "Who waits for whom cannot be told: the profiler slows the hosts"
_EVEN = [
    *((name, variant) for name in ("ddp-even", "fsdp-even", "fsdp-blocks-even", "tp-even",
                                   "tp-long-even", "pp-1f1b-even")
      for variant in ("eager", "default")),
    ("fsdp-blocks-even", "default+target-blocks"),
]  # fmt: skip
_LATE = [
    (f"{name}-{delay}", variant)
    for name in ("ddp", "fsdp", "fsdp-blocks", "pp", "tp", "tp-long")
    for delay in ("spin", "sleep")
    for variant in ("eager", "default", "default+target-blocks")
    if (JOBS / f"{name}-{delay}" / variant).is_dir()
]


def timed(name, variant):
    ((placed),) = jobs_at(str(JOBS / name / variant))
    return placed.timed


@pytest.mark.parametrize(("name", "variant"), _EVEN)
def test_no_headline_of_an_even_job_names_a_late_rank(name, variant):
    job = timed(name, variant)
    claim = claim_of(job)
    assert claim.rank is None
    assert claim.waiting in (Waiting.UNTOLD, Waiting.NONE)
    assert "waits for" not in plain(headline(job)).replace("waits for whom", "")
    if name == "tp-long-even":  # whose devices are the limit under the profiler, too
        assert plain(headline(job)) == "No rank waits: the 2 ranks are even"


def test_no_rank_is_said_not_to_wait_where_ranks_wait_and_the_hosts_are_the_limit():
    """FSDP2 with prefetch: of 64.8 ms rank 1 waited 51 for rank 0, whose host was no slower."""
    job = timed("fsdp-blocks-even", "default+target-blocks")
    assert job.wait_share > 0.25
    path = job.critical
    for share, waiting in ((0.8, Waiting.UNTOLD), (1.2, Waiting.NONE)):
        step_ns = share * min(path.host_ns, path.others_host_ns)
        claim = claim_of(replace(job, unprofiled_step_ns=step_ns))
        assert (claim.waiting, claim.rank) == (waiting, None)
    # As the profiler left it: rank 0 waits in the trace, at no cost.
    assert plain(headline(job)) == "No rank is late: the 2 ranks are even"
    even = replace(job, unprofiled_step_ns=0.8 * path.step_ns, wait_share=0.01)
    assert plain(headline(even)) == "No rank waits: the 2 ranks are even"


@pytest.mark.parametrize(("name", "variant"), _LATE)
def test_every_headline_names_the_rank_that_was_made_late(name, variant):
    job = timed(name, variant)
    claim = claim_of(job)
    assert (claim.waiting, claim.rank) == (Waiting.FOR_RANK, 1)
    assert plain(headline(job)) == "Rank 0 waits for rank 1"
    # 8 ms, and for a sleeping host what its device takes to have as much to do again.
    assert claim.late_ns == pytest.approx((8 if "spin" in name else 8.8) * MS, rel=0.1)


def test_traces_without_a_timed_step_claim_what_the_profiled_steps_show():
    job = replace(timed("fsdp-blocks-even", "eager"), unprofiled_step_ns=None)
    assert claim_of(job) == claim_of(jobs_at(str(JOBS / "fsdp-blocks-even" / "eager"))[0].job)
    assert plain(headline(job)) == "Rank 0 waits for rank 1"
    assert "of the step of 51.6 ms" in evidence(job)


@pytest.mark.parametrize("name", ["ddp-spin", "tp-spin", "fsdp-sleep"])
def test_a_late_rank_that_does_not_stand_out_of_the_waiting_is_named_as_in_the_table(name):
    """Of 1 024 ranks that wait for each other all the time, one came 2.9 ms later in each step."""
    job = replace(timed(name, "eager"), straggler=None, unprofiled_step_ns=None)
    assert claim_of(job) == Claim(Waiting.FOR_RANK, 1)
    assert plain(headline(job)) == "Rank 0 waits for rank 1"
    assert "Rank 1 needs more than the other ranks: " in evidence(job)
    step = profiled_job_step(job.critical)
    assert any("waiting for rank 1" in step.labels[key] for key in step.parts_ns)
    even = replace(job, critical=replace(job.critical, late=None))
    assert claim_of(even) == Claim(Waiting.IN_TURN)
    assert "needs more" not in evidence(even)


def test_a_late_rank_whose_work_the_bubble_hides_is_not_named():
    job = replace(timed("pp-spin", "eager"), unprofiled_step_ns=None)
    assert claim_of(job) == Claim(Waiting.FOR_RANK, 1)
    path = replace(job.critical, bubble_ns=job.critical.step_ns)
    assert path.late_in_bubble_ns == path.late.total_ns
    assert claim_of(replace(job, critical=path)).rank is None


def test_a_pipeline_is_even_beyond_its_bubble():
    job = timed("pp-1f1b-even", "eager")
    path = replace(
        job.critical, late=None, host_ns=0.0, waited_ns={0: job.critical.bubble_ns + 0.1 * MS}
    )
    assert plain(headline(replace(job, critical=path))) == (
        "No rank waits beyond the pipeline's bubble: the 2 ranks are even"
    )


@pytest.mark.parametrize("name", ["fsdp-blocks-even", "fsdp-blocks-sleep", "ddp-spin", "tp-even"])
def test_the_claim_rests_on_the_waterfalls_bars(name):
    (pair,) = compared(JOBS / name).pairs
    rows = {row.key: row for row in pair.waterfall.rows}
    for number, (variant, side) in enumerate(
        (("eager", "baseline_ns"), ("default", "candidate_ns"))
    ):
        job = timed(name, variant)
        claim, step = claim_of(job), unprofiled_job_step(job.critical, job.unprofiled_step_ns)
        bars = [getattr(rows[key], side) if key in rows else 0
                for key in ("late_work", "idle_late_rank")]  # fmt: skip
        assert claim.late_ns == pytest.approx(sum(bars), abs=500)
        parts = [step.parts_ns.get(key, 0) for key in ("late_work", "idle_late_rank")]
        assert parts == pytest.approx(bars, abs=500)
        assert sum(step.parts_ns.values()) == step.step_ns
        findings = {finding.key for finding in pair.findings} if number else set()
        assert not number or ("late_rank" in findings) == (claim.waiting is Waiting.FOR_RANK)


def test_every_surface_says_of_an_even_job_that_it_cannot_be_told(tmp_path, monkeypatch, capsys):
    folder = JOBS / "fsdp-blocks-even" / "eager"
    ((placed),) = jobs_at(str(folder))
    assert placed.job.straggler.rank == 1, "else this test shows nothing"
    assert main(["ranks", str(folder)]) == 0
    text = capsys.readouterr().out
    assert _UNTOLD in text
    assert "who is late then, traces do not say" in text
    (row,) = (line for line in text.splitlines() if line.startswith("waiting for rank 1: its host"))
    assert row.split()[-2:] == ["0", "ns"]  # unprofiled
    assert main(["ranks", str(folder), "--json"]) == 0
    (of_command,) = json.loads(capsys.readouterr().out)["jobs"]
    (of_agent,) = as_plain(special.ranks(str(folder)))["jobs"]
    for answer in (of_command, of_agent):
        assert answer["headline"] == _UNTOLD
        assert (answer["claim"]["waiting"], answer["claim"]["rank"]) == ("untold", None)
        assert answer["straggler"] is None
    values = {measure.key: measure.values for measure in measures((placed.timed,))}
    assert values["straggler"] == (None,)
    shutil.copytree(folder, tmp_path / "runs" / "d" / "eager")
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    page = text_of(opened("ranks", baseline="run/d/eager"))
    assert _UNTOLD in page
    assert "waits for <em>" not in page
    assert "Straggler" in page
    assert page.split("Straggler")[1].split("</tr>")[0].count("none")
