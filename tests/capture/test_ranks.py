"""Several ranks of one variant, on the CPU with gloo: captured whole, or ended whole."""

import pytest

from profiler_core.capture import launcher
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.job_of import job_of
from tests.capture.conftest import SHORT, processes_with

pytestmark = pytest.mark.torch

TINY_DDP = (("width", "64"), ("layers", "1"), ("length", "8"))


@pytest.fixture(scope="module")
def captured(tmp_path_factory, interpreter):
    """DDP on two ranks, eager, tiny."""
    home = tmp_path_factory.mktemp("home")
    spec = CaptureSpec(
        "ddp", variants=parse_variants("eager"), ranks=2, batch_size=1,
        options=TINY_DDP, **{**SHORT, "profile": True},
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(home))
        patch.setattr(launcher, "probe", lambda python, look: interpreter)
        (run,) = launcher.run_capture(spec, tmp_path_factory.mktemp("out")).runs
    assert run.status == "finished", run.error
    return home, run


def test_every_rank_leaves_a_run_directory_of_its_own(captured):
    home, run = captured
    found = find_ranks(str(run.directory))
    assert [file.rank for file in found.files] == [0, 1]
    records = [open_run(run.directory / place).record for place in (".", "ranks/1")]
    assert [(r.rank, r.world_size, r.status) for r in records] == [
        (0, 2, "finished"), (1, 2, "finished"),
    ]  # fmt: skip
    assert processes_with(str(home)) == []


def test_the_traces_say_their_rank_and_their_collectives(captured, monkeypatch):
    home, run = captured
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    for rank, file in enumerate(find_ranks(str(run.directory)).files):
        trace = open_trace(run.directory / file.name)
        assert trace.metadata["distributedInfo"]["rank"] == rank
        assert trace.metadata["distributedInfo"]["backend"] == "gloo"
    # Without a GPU nothing can be said of waiting: one sentence a rank, and no error.
    job = job_of(find_ranks(str(run.directory)))
    assert job.ranks == ()
    assert len([note for note in job.notes if "no GPU events" in note]) == 2


def test_a_rank_that_raises_ends_the_group_with_one_sentence(capture_tiny):
    (run,) = capture_tiny("raises_on_rank_1", ranks=2).runs
    assert run.status == "failed"
    assert run.error.startswith("Rank 1: ValueError in the first call (tiny.py, line ")
    assert "rank 1 has no data" in run.error
    assert "\n" not in run.error
    assert processes_with(str(capture_tiny.home)) == []
