"""The shipped capture of two H200s against plain loops over its JSON, to the nanosecond."""

from dataclasses import replace
from pathlib import Path

import pytest

from profiler_core.analysis.ranks.job_summary import note as job_note
from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.job_of import job_of
from profiler_core.session.comparison import Comparison
from tests.everything import comparisons
from tests.ranks.reference import collective_durations, rank_totals

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "ddp"
VARIANTS = ("eager", "default")


def traces(variant):
    folder = SAMPLE / variant
    return [folder / "trace.json.gz", folder / "ranks" / "1" / "trace.json.gz"]


@pytest.fixture(autouse=True)
def home(home_with_columns):
    return home_with_columns


@pytest.fixture(params=VARIANTS)
def variant(request):
    return request.param


def test_the_slow_rank_is_named(variant):
    job = job_of(find_ranks(str(SAMPLE / variant)))
    assert job.straggler.rank == 1
    assert job.straggler.share > 0.99
    assert job.straggler.compute_more_ns > 10 * abs(job.straggler.idle_more_ns)
    assert job.notes == ()


def test_overlap_and_all_parts_equal_the_independent_ones(variant):
    job = job_of(find_ranks(str(SAMPLE / variant)))
    for row, path in zip(job.ranks, traces(variant), strict=True):
        expected = rank_totals(path)
        found = {key: sum(getattr(step, key) for step in row.steps) for key in expected}
        assert found == expected
        share = expected["overlap_ns"] / expected["communication_ns"]
        assert row.overlap_share == pytest.approx(share, rel=1e-12)


def test_waiting_and_bandwidth_equal_the_independent_ones(variant):
    job = job_of(find_ranks(str(SAMPLE / variant)))
    first, second = (collective_durations(path) for path in traces(variant))
    assert len(first) == len(second) == 30
    waited = [max(0, a - b) for a, b in zip(first, second, strict=True)]
    assert job.ranks[0].waited_ns == pytest.approx(sum(waited) / 3)
    (row,) = job.collectives
    fastest = sum(min(pair) for pair in zip(first, second, strict=True))
    # Six blocks of 12 x 1024² weights and their biases in fp32 are 302 309 376 bytes.
    assert row.bytes == 302_309_376
    assert row.bus_bandwidth == pytest.approx(row.bytes * 3 / fastest * 1e9)


def test_a_run_says_that_its_kernels_count_as_without_a_collective(variant):
    """Tables had 1 973 µs for a kernel that takes 3 613 in the trace, and no page said why."""
    (run,) = Comparison.open([SAMPLE / variant]).runs
    (note,) = [each for each in run.summary.notes if each.startswith("Times are of the job")]
    assert note.endswith("count as they cost without one, if any runs so.")
    even = replace(run.job.critical, slowed_ns=0.0, slowed_by_waiting_ns=0.0)
    assert "collective" not in job_note(even, 0)


def test_the_library_lists_one_run_for_each_variant():
    (group,) = [g for g in comparisons() if g.key == "sample/ddp"]
    assert [e.key for e in group.entries] == ["sample/ddp/eager", "sample/ddp/default"]
    assert all(e.run.world_size == 2 and e.is_readable for e in group.entries)


def test_it_is_small_and_names_no_machine():
    files = [p for p in SAMPLE.rglob("*") if p.is_file()]
    assert sum(p.stat().st_size for p in files) < 2_500_000
