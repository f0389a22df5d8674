"""The dossier of a rank and of its steps, against the plain JSON of its trace, and its links."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from profiler_core.analysis.item import Item, finding_item, name_key, rank_item
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.store import library
from profiler_core.ui.dossier.draw import dossier_html
from profiler_core.ui.timeline.address import Address, read_address
from profiler_core.ui.timeline.link import link_to_step
from tests.analysis.ranks.mesh_job import KERNELS, STEPS, Mesh, Planted, play, write
from tests.apps import opened, text_of

US = 1e3
_MESH, _LATE = Mesh(4, 1, 1), 2


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    write(folder / "even", _MESH, play(_MESH))
    write(folder / "late", _MESH, play(_MESH, Planted(_LATE, "spin", 3000.0)))
    return folder


@pytest.fixture(scope="module")
def comparison(job):
    return Comparison.open([job / "even", job / "late"])


def kernels_us(job, rank, *kinds):
    trace = json.loads(gzip.decompress((job / "late" / f"rank{rank}.json.gz").read_bytes()))
    names = {KERNELS[kind] for kind in kinds}
    return sum(e["dur"] for e in trace["traceEvents"] if e["name"] in names) / STEPS


def parts_of(made):
    (relation,) = (relation for relation in made.relations if relation.kind == "parts")
    return {entry.title: entry.times_ns for entry in relation.entries}


@pytest.mark.parametrize("rank", [0, _LATE])
def test_where_a_ranks_step_goes_by_plain_json(job, comparison, rank):
    made = dossier(comparison, rank_item(1, rank))
    compute_us = kernels_us(job, rank, "work", "optimizer", "spin")
    assert parts_of(made)["compute"][1] == pytest.approx(compute_us * US, abs=2)
    waited_us = kernels_us(job, rank, "allreduce") - kernels_us(job, _LATE, "allreduce")
    assert parts_of(made)["waited"][1] == pytest.approx(waited_us * US, abs=2)
    assert [time.label for time in made.times] == list(comparison.labels)
    is_late = rank == _LATE
    assert made.answer.startswith("The others wait for it.") == is_late
    assert any("Rank 2 needs more than the other ranks" in text for text in made.about) == is_late
    assert is_late or "the others wait for is rank 2" in made.answer


def test_the_finding_of_a_late_rank_leads_to_that_rank(job, comparison):
    """Of its evidence all but the rank had a link."""
    made = dossier(comparison, finding_item(1, "late_rank"))
    assert made.page == "ranks"
    (relation,) = made.relations
    assert (relation.kind, relation.heads) == ("ranks", tuple(comparison.labels))
    (entry,) = relation.entries
    assert (entry.title, entry.item) == (f"rank {_LATE}", rank_item(1, _LATE))
    of_rank = dossier(comparison, entry.item)
    assert entry.times_ns == tuple(time.time_ns for time in of_rank.times)
    late_us = kernels_us(job, _LATE, "spin")
    assert entry.times_ns[1] - entry.times_ns[0] == pytest.approx(late_us * US, rel=0.1)
    text = str(dossier_html(made))
    assert f'data-item="rank:1.{_LATE}"' in text and ">Ranks<" in text


def test_a_collectives_kernel_is_told_as_a_transfer_not_as_a_small_grid(comparison):
    """Few blocks are how NCCL works, and its waiting is on the timeline but not in these times."""
    made = dossier(comparison, Item("kernel", name_key(KERNELS["allreduce"])))
    assert made.about == (
        "Its times count the transfer alone: waiting for other ranks, which the "
        "timeline shows as part of a call, is left out.",
        # 1000 floats, once a step.
        "even: 4.00 kB per step and rank, at a bus bandwidth of 60.0 MB/s.",
        "late: 4.00 kB per step and rank, at a bus bandwidth of 60.0 MB/s.",
    )


def test_a_step_of_a_rank_has_its_own_times_and_leads_to_the_timeline(comparison):
    made = dossier(comparison, rank_item(1, 0, 1))
    assert made.title == "rank 0, step 2"
    row = next(row for row in comparison.runs[1].job.ranks if row.rank == 0)
    assert made.times[1].time_ns == row.steps[1].dur_ns
    assert parts_of(made)["waited"][1] == row.waited_in_steps_ns[1] > 0
    assert parts_of(made)["idle"][1] == row.steps[1].idle_ns
    assert "made others wait" not in parts_of(made)
    (steps,) = (relation for relation in made.relations if relation.kind == "steps")
    assert [entry.item for entry in steps.entries] == [rank_item(1, 0, n) for n in range(STEPS)]
    (step,) = made.steps_on_timeline
    there = link_to_step(step)
    assert (there["rank"], there["step"]) == ("1.0", "1")
    start, end = read_address(there).window
    assert start < 0 < row.steps[1].dur_ns < end


@pytest.mark.parametrize("key", ["1.4", "1.0.2", "2.0", "1", "1.0.0.0", "1.x", "-1.0"])
def test_what_no_rank_is(comparison, key):
    with pytest.raises(NothingToAnalyse):
        dossier(comparison, Item("rank", key))


def test_a_rank_lives_in_the_address_of_the_timeline():
    address = Address(step=1, rank=(0, 683))
    assert read_address(address.parameters()) == address
    for text in ("0", "0.", "x.1", "0.1.2", "0.-1", "9999.1"):
        assert read_address({"rank": text}).rank is None


def test_the_timeline_shows_the_rank_that_a_link_names(job, tmp_path, monkeypatch):
    shutil.copytree(job / "late", tmp_path / "runs" / "d" / "late")
    folder: Path = tmp_path / "runs" / "d" / "late"
    (folder / "rank0.json.gz").rename(folder / "trace.json.gz")
    for rank in (1, 2, 3):
        (folder / "ranks" / str(rank)).mkdir(parents=True)
        (folder / f"rank{rank}.json.gz").rename(folder / "ranks" / str(rank) / "trace.json.gz")
    record = {"schema_version": 1, "workload": "made-up", "variant": "late", "world_size": 4}
    (folder / "run.json").write_text(json.dumps(record))
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    page = opened("ranks", baseline="run/d/late", item="rank:0.3.1")
    assert "rank 3, step 2" in text_of(page)
    assert "Waited in each step" in text_of(page)
    own = Comparison.open([folder]).runs[0].shown_rank
    assert own != 3, "else this test shows nothing"
    for rank, shown in ((None, own), ("0.3", 3), ("0.9", own)):
        query = {} if rank is None else {"rank": rank}
        app = opened("timeline", baseline="run/d/late", **query)
        assert f"rank {shown}" in canvas_of(app)


def canvas_of(app):
    return "".join(str(element.proto) for element in app.get("bidi_component"))
