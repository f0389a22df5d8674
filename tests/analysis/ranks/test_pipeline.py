"""The bubble of a pipeline: what its schedule leaves idle, told from hosts and from late ranks."""

import pytest

from profiler_core.analysis.item import event_item, kernel_item
from profiler_core.analysis.ranks.job import combine
from profiler_core.analysis.ranks.job_summary import idle_by_cause
from profiler_core.analysis.ranks.pipeline import Stage, take_bubble
from profiler_core.cli.main import main
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.session.search import search_index
from tests.analysis.ranks import plain_job
from tests.analysis.ranks.test_critical_path import JOBS, MS, critical, traces
from tests.analysis.ranks.test_sends import a_stage

_FOLDER = JOBS / "pp-1f1b-even"
_MICROBATCHES = 4
_FIRST = [(100, 10, "send", 1), (200, 10, "send", 1), (300, 10, "recv", 1), (400, 10, "recv", 1)]
_LAST = [(100, 10, "recv", 0), (200, 10, "recv", 0), (300, 10, "send", 0), (400, 10, "send", 0)]


def stages(*of_ranks, world=2):
    return [a_stage(rank, calls, group=tuple(range(world)), world=world)
            for rank, calls in enumerate(of_ranks)]  # fmt: skip


def test_stages_are_told_by_who_sends_first():
    first, last = stages(_FIRST, _LAST)
    assert first.stage == last.stage == Stage((0, 1), 2)
    middle = [(100, 10, "recv", 0), (150, 10, "send", 2), (300, 10, "recv", 2),
              (350, 10, "send", 0)]  # fmt: skip
    one = [(100, 10, "send", 1), (400, 10, "recv", 1)]
    end = [(200, 10, "recv", 1), (250, 10, "send", 1)]
    assert {s.stage for s in stages(one, middle, end, world=3)} == {Stage((0, 1, 2), 1)}


@pytest.mark.parametrize(
    "calls",
    [
        _FIRST,  # a ring: everybody sends first
        _LAST[:3],  # more comes than goes
        [],
    ],
)
def test_other_exchanges_between_two_are_no_pipeline(calls):
    first, last = stages(_FIRST, calls)
    assert last.stage is None
    assert combine([first, last]).critical.bubble_ns == 0


def test_a_list_of_ranks_that_torch_cut_tells_no_stages():
    assert a_stage(0, _FIRST, group=(0, 1), world=2, listed="[0, 1, ...").stage is None


def test_the_bubble_is_a_microbatch_of_all_other_stages():
    path = combine(stages(_FIRST, _LAST)).critical
    assert path.bubble_ns == 20 / 2  # a kernel of 20 ns in two microbatches
    before = {**path.idle_ns, "other_ranks": sum(path.waited_ns.values())}
    after = idle_by_cause(path)
    assert sum(after.values()) == pytest.approx(sum(before.values()))
    assert after["pipeline_bubble"] <= 10


def test_it_is_taken_of_waiting_first_and_never_more_than_there_is():
    idle = {"other_ranks": 3.0, "host_other": 4.0, "host_launching": 4.0, "tail": 9.0}
    assert take_bubble(idle, "other_ranks", "b", 7.0) == {
        "other_ranks": 0.0, "host_other": 2.0, "host_launching": 2.0, "tail": 9.0, "b": 7.0,
    }  # fmt: skip
    assert take_bubble(idle, "other_ranks", "b", 70.0)["b"] == 20.0
    assert take_bubble({"tail": 9.0}, "other_ranks", "b", 7.0) == {
        "tail": 2.0, "other_ranks": 0.0, "b": 7.0,
    }  # fmt: skip
    assert take_bubble({"dependency": 9.0}, "other_ranks", "b", 7.0)["b"] == 0.0


@pytest.mark.parametrize("variant", ["eager", "default"])
def test_the_bubble_of_1f1b_on_two_gpus_by_plain_json(variant):
    """(stages - 1) of (microbatches) parts of the other stage's work, as GPipe's paper has it."""
    path, files = critical(_FOLDER / variant), traces(_FOLDER / variant)
    (other,) = set(files) - {path.rank}
    steps = plain_job.steps(files[other])
    busy_us = sum(
        event["dur"]
        for _, event in plain_job.launched_in_steps(files[other])
        if not plain_job.is_collective(event) and "multi_tensor" not in event["name"]
    )
    of_a_microbatch = busy_us * 1e3 / len(steps) / _MICROBATCHES
    assert path.bubble_ns == pytest.approx(of_a_microbatch, rel=0.02)
    assert 4 * MS < path.bubble_ns < 5.5 * MS


def test_the_waterfall_and_ranks_name_the_bubble_and_no_late_rank(capsys):
    pair = Comparison.open([_FOLDER / "eager", _FOLDER / "default"]).pairs[0]
    rows = {row.key: row for row in pair.waterfall.rows}
    bubble = rows["idle_pipeline_bubble"]
    assert bubble.label == "pipeline bubble"
    for side, variant in (("baseline_ns", "eager"), ("candidate_ns", "default")):
        total = getattr(pair.waterfall, side)
        assert sum(getattr(row, side) for row in rows.values()) == total
        assert getattr(bubble, side) == pytest.approx(critical(_FOLDER / variant).bubble_ns, abs=1)
        waiting = [key for key in rows if "late" in key or "other_ranks" in key]
        assert sum(getattr(rows[key], side) for key in waiting) < 0.03 * total
    assert main(["ranks", str(_FOLDER / "eager")]) == 0
    assert "pipeline bubble" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["pp-spin", "pp-sleep"])
def test_what_was_planted_on_gpus_fills_no_bubble(name):
    """Removing it saved all of it and more (docs/ranks.md)."""
    assert critical(JOBS / name / "eager").late_in_bubble_ns == 0


def test_stages_of_a_pipeline_are_not_compared_with_each_other():
    """The critical ranks of the two sides run different stages; counted as plain JSON."""
    variants = ("eager", "default")
    comparison = Comparison.open([_FOLDER / variant for variant in variants])
    paths = [run.job.critical for run in comparison.runs]
    assert paths[0].shown != paths[1].shown, "else this test shows nothing"
    for variant, side in zip(variants, comparison.sides, strict=True):
        trace = traces(_FOLDER / variant)[paths[1].shown]
        launched = plain_job.launched_in_steps(trace)
        kernels = sum(event["cat"] == "kernel" for _, event in launched)
        assert side.summary.n_kernels == kernels
        assert side.summary.n_steps == len(plain_job.steps(trace))
    notes = [side.summary.notes[-1] for side in comparison.sides]
    assert ["kernels and groups are its own" in note for note in notes] == [
        path.rank == paths[1].shown for path in paths
    ]


def test_dossiers_and_their_links_are_of_the_rank_that_both_sides_show():
    """Kernels, calls and the events that links lead to, counted in the JSON of that rank."""
    variants = ("eager", "default")
    comparison = Comparison.open([_FOLDER / variant for variant in variants])
    rank = comparison.runs[1].shown_rank
    assert comparison.opened[0].shown_rank != rank, "else this test shows nothing"
    assert [run.shown_rank for run in comparison.runs] == [rank, rank]
    row = max(
        (row for row in comparison.kernels if all(row.sides) and row.category != "communication"),
        key=lambda row: row.most_ns,
    )
    made = dossier(comparison, kernel_item(row.name))
    every = {item.item.text for item in search_index(comparison).entries}
    assert kernel_item(row.name).text in every
    for time, event, variant in zip(made.times, made.on_timeline, variants, strict=True):
        trace = traces(_FOLDER / variant)[rank]
        own = [e for _, e in plain_job.launched_in_steps(trace) if e["name"] == row.name]
        assert time.n == pytest.approx(len(own) / len(plain_job.steps(trace)))
        # The row is that of the rank's own file, which the timeline draws.
        in_file = comparison.runs[event.run].shown.trace.device.row(event.row, named=True)
        assert in_file["name"] == row.name
        assert any(abs(in_file["dur_ns"] - e["dur"] * 1e3) < 2 for e in own)
        about = dossier(comparison, event_item(event.run, event.table, event.row))
        assert about.title == row.name
        assert about.relations[0].sentence == "This event is in the group:"


def test_a_collective_that_waited_keeps_its_row():
    """Taking its waiting off moves it behind kernels that began meanwhile."""
    run = Comparison.open([JOBS / "ddp-spin" / "eager", JOBS / "ddp-spin" / "default"]).runs[0]
    run = run.with_rank(0)  # which waits
    recorded, worked = run.shown.trace.device, run.worked_trace.device
    rows = [run.recorded_row("device", row) for row in range(worked.height)]
    assert rows != list(range(worked.height))
    assert recorded["correlation"].gather(rows).to_list() == worked["correlation"].to_list()
    assert [run.worked_row("device", row) for row in rows[:50]] == list(range(50))
    assert run.recorded_row("ops", 7) == run.worked_row("ops", 7) == 7
