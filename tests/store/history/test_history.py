"""What goes into the history comes out of it: runs, filters, tags, baselines, what is refused."""

import json

import pytest
from sqlalchemy import text

from profiler_core.errors import BadInput, FusionscopeError, NotARun
from profiler_core.store import history
from profiler_core.store.history import audit
from tests.store.history.samples import SAMPLES, redated_copy


def test_a_run_is_recorded_with_its_numbers(home):
    run = history.record(redated_copy(home, "c1", whole=True))
    assert run == history.run("c1.default")
    assert (run.workload, run.variant, run.status) == ("breaky", "default", "finished")
    assert (run.gpu, run.torch, run.person) == ("NVIDIA H200", "2.11.0", "Ada")
    # As `summary`, `logs` and run.json of sample_traces/breaky/default say.
    assert run.metrics.n_kernels == 8
    assert run.metrics.n_launches == 9
    assert run.metrics.n_graph_breaks == 2
    assert run.metrics.n_recompiles == 7
    assert run.metrics.compile_s == pytest.approx(3.519853)
    raw = json.loads((SAMPLES / "breaky" / "default" / "run.json").read_text())
    measured = raw["measurement"]
    assert run.metrics.peak_reserved_bytes == measured["peak_reserved_bytes"]
    assert [r.wall_ns for r in run.rounds] == [r["wall_ns"] for r in measured["rounds"]]
    assert run.environment == raw["environment"]
    assert history.directory_of(run) == home / "runs" / "c1" / "default"


def test_an_eager_run_has_no_compile_numbers(home):
    run = history.record(redated_copy(home, "c1", variant="eager", whole=True))
    assert run.metrics.n_kernels == 9
    assert run.metrics.n_graph_breaks is None
    assert run.metrics.compile_s is None


def test_recording_again_changes_nothing(home):
    directory = redated_copy(home, "c1")
    first = history.record(directory, tags=("nightly",))
    assert history.record(directory) == first
    assert history.n_runs() == 1


def test_a_run_from_elsewhere_is_copied_in(home, tmp_path):
    directory = redated_copy(tmp_path / "elsewhere", "c1")
    run = history.record(directory)
    assert history.directory_of(run) == home / "runs" / "c1" / "default"
    assert directory.is_dir()


def test_a_running_run_is_not_in_the_history(home):
    directory = redated_copy(home, "c1", status="running", measurement=None)
    with pytest.raises(BadInput, match="still running"):
        history.record(directory)
    assert history.runs() == ()


def test_what_is_no_run_is_refused(home, tmp_path):
    with pytest.raises(NotARun):
        history.record(tmp_path)
    broken = home / "runs" / "c" / "default"
    broken.mkdir(parents=True)
    (broken / "run.json").write_text('{"run_id": 3')
    with pytest.raises(NotARun):
        history.record(broken)
    with pytest.raises(BadInput, match="has no run"):
        history.run("nothing")


@pytest.mark.parametrize(
    "odd",
    [
        {"name": "a\0b"},
        {"workload": "'; DROP TABLE runs; --"},
        {"error": "<script>" * 100},
        {"created_at": "yesterday"},
        {"created_at": "2026-11-21T12:00:00+05:30"},
        {"spec": {"n": 10**30, "deep": [[[["\0"]]]]}},
    ],
    ids=lambda odd: next(iter(odd)),
)
def test_odd_texts_are_kept_or_cleaned_but_never_an_error(home, odd):
    directory = redated_copy(home, "c1", **odd)
    run = history.record(directory)
    assert history.runs() == (run,)
    assert run.name.replace("\0", "") == run.name
    assert run.created_at.endswith("Z")


def test_times_of_any_zone_sort_as_moments(home):
    history.record(redated_copy(home, "later", created_at="2026-11-21T12:00:00+00:00"))
    history.record(redated_copy(home, "earlier", created_at="2026-11-21T13:00:00+05:30"))
    assert [run.capture_id for run in history.runs()] == ["later", "earlier"]


def test_filters(home):
    for n, torch in enumerate(("2.10.0", "2.11.0+cu130")):
        history.record(
            redated_copy(
                home,
                f"c{n}",
                created_at=f"2026-11-2{n}T12:00:00Z",
                environment={"torch": torch, "git_commit": f"{n}abc", "git_branch": "main"},
            )
        )
    history.record(redated_copy(home, "b", sample="bert", variant="eager"), tags=("weekly",))

    def found(**wanted):
        return {run.capture_id for run in history.runs(history.RunFilter(**wanted))}

    assert found() == {"c0", "c1", "b"}
    assert found(workload=("breaky",)) == {"c0", "c1"}
    assert found(workload=("breaky", "bert"), torch=("2.11.0",)) == {"c1", "b"}
    assert found(variant=("eager",)) == {"b"}
    assert found(commit="1a") == {"c1"}
    assert found(commit="%") == set()
    assert found(branch=("main",), since="2026-11-21") == {"c1"}
    assert found(tag=("weekly",)) == {"b"}
    assert found(gpu=("AMD",)) == set()
    assert found(person=("Ada",)) == {"c0", "c1", "b"}
    choices = history.choices()
    assert choices["torch"] == ("2.10.0", "2.11.0")
    assert choices["tag"] == ("weekly",)
    assert len(history.runs(limit=2)) == 2


def test_tags_come_and_go(home):
    history.record(redated_copy(home, "c1"))
    history.tag("c1.default", "nightly", "release 2.4")
    history.tag("c1.default", "nightly")
    assert history.run("c1.default").tags == ("nightly", "release 2.4")
    history.untag("c1.default", "nightly", "never there")
    assert history.run("c1.default").tags == ("release 2.4",)
    with pytest.raises(BadInput):
        history.tag("c1.default", "<b>")
    with pytest.raises(BadInput):
        history.tag("nobody", "nightly")


def test_a_baseline_is_a_named_run(home):
    for capture in ("c1", "c2"):
        history.record(redated_copy(home, capture))
    history.set_baseline("main", "c1.default", note="first")
    assert history.baseline("main").run_id == "c1.default"
    history.set_baseline("main", "c2.default", person="Grace")
    (kept,) = history.baselines()
    assert (kept.run_id, kept.person, kept.note) == ("c2.default", "Grace", "")
    with pytest.raises(BadInput, match="no baseline"):
        history.baseline("other")
    with pytest.raises(BadInput, match="has no run"):
        history.set_baseline("main", "nobody")
    history.remove_baseline("main")
    assert history.baselines() == ()
    with pytest.raises(BadInput):
        history.remove_baseline("main")
    assert [e.action for e in audit.entries(subject="main")] == [
        *("remove baseline", "baseline", "baseline")
    ]


def test_a_failed_run_is_recorded_but_no_baseline(home):
    history.record(redated_copy(home, "c1", status="failed", error="boom", measurement=None))
    assert history.run("c1.default").error == "boom"
    with pytest.raises(BadInput, match="failed"):
        history.set_baseline("main", "c1.default")


def test_deleting_a_run_takes_its_files_and_its_row(home):
    directory = redated_copy(home, "c1")
    redated_copy(home, "c1", variant="eager")
    history.reconcile()
    history.delete_run("c1.default")
    assert [run.run_id for run in history.runs()] == ["c1.eager"]
    assert not directory.exists()
    history.delete_run("c1.eager")
    assert not (home / "runs" / "c1").exists()
    assert history.reconcile().recorded == ()


def test_a_baseline_or_a_reviewed_run_is_not_deleted(home):
    directory = redated_copy(home, "c1")
    history.record(directory)
    history.set_baseline("main", "c1.default")
    with pytest.raises(BadInput, match="main"):
        history.delete_run("c1.default")
    history.remove_baseline("main")
    with history.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO reviews (review_id, created_at, changed_at) "
                "VALUES ('r', '2026', '2026')"
            )
        )
        connection.execute(
            text(
                "INSERT INTO review_sides (review_id, position, run_id, key) "
                "VALUES ('r', 0, 'c1.default', 'run/c1/default')"
            )
        )
    with pytest.raises(BadInput, match="review"):
        history.delete_run("c1.default")
    assert directory.is_dir()
    assert history.run("c1.default")


def test_a_database_that_is_not_there_is_a_sentence_without_the_password(home, monkeypatch):
    monkeypatch.setenv(
        "FUSIONSCOPE_DATABASE_URL", "postgresql://me:secret@127.0.0.1:1/nothing?connect_timeout=2"
    )
    with pytest.raises(FusionscopeError) as caught:
        history.runs()
    assert "secret" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


@pytest.mark.parametrize("url", ["mysql://host/x", "no url", "sqlite://"])
def test_other_databases_are_refused(home, monkeypatch, url):
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", url)
    with pytest.raises(BadInput):
        history.runs()
