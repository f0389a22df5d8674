"""What Trends draws outlives the server, and never the state of the history that it rests on."""

from profiler_core.analysis.trend import TrendChart, trend
from profiler_core.store import history
from profiler_core.store.history import kept_trends
from tests.store.history.samples import redated_copy

STEP = "step_time_ns"


def drawn():
    (question,) = history.charts(history.RunFilter(), STEP).questions
    return history.drawn(history.RunFilter(), STEP, question.digest)


def chart_of(points):
    runs, before = points.runs()
    return trend(runs, STEP, before).charts[0]


def test_what_was_made_once_is_read_by_the_next_server(home):
    for day in (1, 2):
        history.record(redated_copy(home, f"c{day}", created_at=f"2026-11-0{day}T12:00:00Z"))
    made = []

    def make():
        made.append(1)
        return chart_of(drawn())

    asked = ("trend", drawn().version)
    first = history.lasting(asked, TrendChart, make)
    again = history.lasting(asked, TrendChart, make)
    assert again == first
    assert again.lines[0].points[1].before_id == "c1.default"
    assert len(made) == 1
    points = history.lasting(("points", *history.version()), history.Drawn, drawn)
    assert (
        history.lasting(("points", *history.version()), history.Drawn, drawn) == points == drawn()
    )
    for file in (home / "cache" / "trends").iterdir():
        file.write_bytes(b"damaged")
    assert history.lasting(asked, TrendChart, make) == first
    assert len(made) == 2


def test_a_deed_asks_anew_and_a_look_does_not(home):
    history.record(redated_copy(home, "c1"))
    before = history.version()
    history.note("Ada", "look", "c1.default")
    assert history.version() == before
    history.delete_run("c1.default", person="Bob")
    assert history.version() != before
    # A restored backup counts its deeds on from an earlier number: that alone would not tell.
    assert {"Bob", "c1.default"} <= set(history.version())


def test_so_many_are_kept(home, monkeypatch):
    monkeypatch.setattr(kept_trends, "_MOST_FILES", 3)
    for n in range(6):
        history.lasting(("n", n), int, lambda: 1)
    assert len(list((home / "cache" / "trends").iterdir())) == 3
