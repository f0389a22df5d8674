import json
import os
import shutil
import socket
import time

import pytest

from profiler_core import run_directory as names
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.store import library
from profiler_core.store.deletion import can_be_deleted, delete
from profiler_core.ui.choice import keys_of
from tests.everything import comparisons


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    return tmp_path


def put(root, capture, variant, *, trace=True, **record):
    folder = root / capture / variant
    folder.mkdir(parents=True)
    record = {"variant": variant, "capture_id": capture, "workload": "model", **record}
    (folder / names.RUN_JSON).write_text(json.dumps(record))
    if trace:
        (folder / "trace.json").write_text('{"traceEvents": []}')
    return folder


def only_group():
    (group,) = comparisons()
    return group


def test_runs_of_one_folder_are_one_comparison_with_the_baseline_first(home):
    put(home / "runs", "c1", "default", role="candidate")
    put(home / "runs", "c1", "eager", role="baseline")
    group = only_group()
    assert [e.key for e in group.entries] == ["run/c1/eager", "run/c1/default"]
    assert group.title == "model"
    assert library.entry("run/c1/default").run.variant == "default"


def test_a_capture_is_called_as_it_was_named(home):
    put(home / "runs", "c1", "eager", role="baseline", spec={"name": "before the fix"})
    assert only_group().title == "before the fix"


def test_candidates_come_in_the_order_in_which_they_were_timed(home):
    def timed(order):
        rounds = [{"index": 0, "order": order, "n_steps": 1, "wall_ns": 5}]
        return {"rounds": rounds}

    put(home / "runs", "c", "eager", role="baseline", measurement=timed(0))
    put(home / "runs", "c", "a-last", role="candidate", measurement=timed(2))
    put(home / "runs", "c", "z-first", role="candidate", measurement=timed(1))
    assert [e.variant for e in only_group().entries] == ["eager", "z-first", "a-last"]


def test_own_runs_come_before_samples_and_the_newest_first(home):
    put(home / "samples", "s", "eager")
    put(home / "runs", "old", "eager", created_at="2026-01-01T00:00:00Z")
    put(home / "uploads", "new", "1", created_at="2026-02-01T00:00:00Z")
    assert [g.key for g in comparisons()] == ["upload/new", "run/old", "sample/s"]


def test_a_folder_that_is_itself_a_run_is_a_comparison_of_one(home):
    put(home, "runs", "alone")
    assert [e.key for e in only_group().entries] == ["run/alone"]
    assert library.entry("run/alone").variant == "alone"


def test_a_bare_trace_is_a_run(home):
    folder = home / "uploads" / "u" / "1"
    folder.mkdir(parents=True)
    (folder / "trace.json.gz").write_bytes(b"")
    assert only_group().baseline.run.name == "1"
    assert only_group().baseline.is_readable


def test_keys_survive_names_that_a_url_would_change(home):
    put(home / "runs", "a b+c%2B~é", "default+bf16-autocast")
    key = only_group().baseline.key
    assert not set(key) & set(" +%&?#")
    assert library.entry(key).variant == "default+bf16-autocast"


def test_a_key_that_was_typed_is_the_one_of_the_list(home):
    """A link with "+" opened its runs, as some that were "put together by hand"."""
    put(home / "runs", "a~é", "default+bf16-autocast")
    key = only_group().baseline.key
    assert keys_of({"baseline": ["run/a~7Eé/default+bf16-autocast"]}) == (key,)
    assert keys_of({"baseline": [key], "candidate": [key]}) == (key,)
    with pytest.raises(BadInput, match="“run/a b” here"):  # as it was typed
        library.entry(*keys_of({"baseline": ["run/a b"]}))


@pytest.mark.parametrize(
    "key",
    [
        "",
        "run",
        "run/",
        "run/nothing/here",
        "run/../../etc",
        "run/..~2F..~2Fetc/passwd",
        "run/~00/x",
        "nowhere/a/b",
        "run/.incoming/x",
        "path/etc/passwd",
        "x" * 5000,
        "run/" + "x" * 5000,
        "run/c/" + "x" * 5000,
        "run/%2e%2e/%2e%2e",
        "run/~zz",
    ],
)
def test_a_key_that_names_nothing_is_one_clear_sentence(home, key):
    put(home / "runs", "c", "eager")
    with pytest.raises(FusionscopeError) as error:
        library.entry(key)
    assert len(error.value.problem) < 400
    assert error.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"status": 7}',
        '{"status": "<script>"}',
        '{"measurement": {"pid": "x"}}',
        '{"measurement": {"peak_allocated_bytes": 1e400}}',
        "[" * 100_000,
        '{"spec": ' + '{"a":' * 50_000,
        "\udcff",
    ],
    ids=range(11),
)
def test_a_hostile_run_json_leaves_a_run_with_a_sentence(home, text):
    folder = home / "runs" / "c" / "eager"
    folder.mkdir(parents=True)
    (folder / names.RUN_JSON).write_bytes(text.encode("utf-8", "surrogateescape"))
    (folder / "trace.json").write_text("{}")
    entry = only_group().baseline
    assert entry.problem is not None and names.RUN_JSON in entry.problem
    assert len(entry.problem) < 400
    assert (entry.run.status, entry.run.name) == ("failed", "eager")
    assert entry.is_readable


def test_a_run_json_beyond_all_measure_is_not_read(home):
    folder = put(home / "runs", "c", "eager")
    with (folder / names.RUN_JSON).open("ab") as file:
        file.truncate(40 * 1024 * 1024)
    assert "too many" in str(only_group().baseline.problem)


def test_a_run_json_that_is_a_folder_does_not_hide_the_trace(home):
    folder = put(home / "runs", "c", "eager")
    (folder / names.RUN_JSON).unlink()
    (folder / names.RUN_JSON).mkdir()
    assert only_group().baseline.is_readable


def test_links_that_lead_out_of_the_library_are_not_followed(home, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    put(outside, "secret", "eager")
    (home / "runs").mkdir()
    (home / "runs" / "link").symlink_to(outside / "secret")
    inside = put(home / "runs", "mine", "eager")
    (inside.parent / "linked").symlink_to(outside / "secret" / "eager")
    (home / "runs" / "loop").symlink_to(home / "runs" / "loop")
    assert [e.key for e in only_group().entries] == ["run/mine/eager"]
    for key in ("run/link/eager", "run/mine/linked", "run/loop/x"):
        with pytest.raises(BadInput):
            library.entry(key)


def running(home, *, root="runs", pid=None, host=None, beat_age_s=0.0):
    host = socket.gethostname() if host is None else host
    pid = os.getpid() if pid is None else pid
    folder = put(
        home / root, "c", "eager", status="running", measurement={"pid": pid, "host": host}
    )
    beat = folder / names.HEARTBEAT
    beat.touch()
    os.utime(beat, (time.time() - beat_age_s,) * 2)
    return only_group().baseline.run.status


def test_a_run_with_a_living_process_runs(home):
    assert running(home) == "running"
    assert only_group().is_alive


def test_a_run_whose_process_is_gone_is_lost(home):
    assert running(home, pid=2**22 + 1) == "lost"


def test_a_pid_of_another_host_says_nothing_but_the_heartbeat_does(home):
    assert running(home, pid=2**22 + 1, host="elsewhere") == "running"


def test_an_old_heartbeat_is_a_lost_run(home):
    assert running(home, beat_age_s=names.LOST_AFTER_S + 5) == "lost"


@pytest.mark.parametrize("pid", [-1, 0, 2**70])
def test_a_pid_that_is_none_sends_no_signal(home, pid):
    assert running(home, pid=pid, host=socket.gethostname()) in ("running", "lost", "failed")


def test_an_uploaded_running_run_is_a_copy_and_lost(home):
    assert running(home, root="uploads") == "lost"


def test_a_changed_run_json_is_read_anew(home):
    folder = put(home / "runs", "c", "eager", status="finished")
    assert only_group().baseline.run.status == "finished"
    (folder / names.RUN_JSON).write_text('{"status": "failed", "error": "out of memory"}')
    assert only_group().baseline.run.error == "out of memory"


def test_deleting_takes_the_files_of_own_captures_and_nothing_else(home):
    put(home / "runs", "c", "eager")
    keep = put(home / "runs", "d", "eager")
    group = next(g for g in comparisons() if g.key == "run/c")
    assert can_be_deleted(group)
    delete(group)
    assert not (home / "runs" / "c").exists()
    assert keep.exists()


def test_samples_are_not_deleted(home):
    put(home / "samples", "s", "eager")
    sample = only_group()
    with pytest.raises(BadInput, match="sample"):
        delete(sample)
    assert sample.path.exists()


def test_a_running_capture_is_not_deleted(home):
    assert running(home) == "running"
    alive = only_group()
    with pytest.raises(BadInput, match="still runs"):
        delete(alive)
    assert alive.path.exists()


def test_only_what_changed_is_read_again(home, monkeypatch):
    for name in ("a", "b", "c"):
        put(home / "runs", name, "eager", role="baseline", created_at=f"2026-01-0{ord(name) - 96}")
    read = []
    really = library._read_comparable
    monkeypatch.setattr(
        library,
        "_read_comparable",
        lambda prefix, folder, root: (read.append(folder.name), really(prefix, folder, root))[1],
    )
    assert [g.key for g in comparisons()] == ["run/c", "run/b", "run/a"]
    assert sorted(read) == ["a", "b", "c"]
    comparisons()
    assert len(read) == 3
    put(home / "runs", "b", "default", role="candidate")  # a run more
    record = home / "runs" / "a" / "eager" / names.RUN_JSON
    record.write_text(record.read_text().replace("model", "another"))
    shutil.rmtree(home / "runs" / "c")
    groups = {g.key: g for g in comparisons()}
    assert sorted(read[3:]) == ["a", "b"]
    assert len(groups["run/b"].entries) == 2 and groups["run/a"].title == "another"
    assert "run/c" not in groups


def test_a_run_that_runs_is_looked_at_each_time(home):
    assert running(home) == "running"
    old = time.time() - 10 * names.LOST_AFTER_S
    os.utime(home / "runs" / "c" / "eager" / names.HEARTBEAT, (old, old))
    assert not only_group().is_alive


def test_a_folder_that_became_a_link_is_not_followed(home, tmp_path_factory):
    put(home / "runs", "c", "eager", role="baseline")
    put(home / "runs", "c", "default", role="candidate")
    assert len(only_group().entries) == 2
    outside = put(tmp_path_factory.mktemp("outside"), "c", "secret")
    shutil.rmtree(home / "runs" / "c" / "default")
    (home / "runs" / "c" / "default").symlink_to(outside)
    assert len(only_group().entries) == 1


def test_a_list_keeps_no_single_steps_and_a_run_that_is_opened_has_them(home):
    rounds = [{"index": 0, "order": 0, "n_steps": 3, "wall_ns": 30}]
    measurement = {"rounds": rounds, "step_event_ns": [9, 10, 11], "warmup_step_ns": [50]}
    put(home / "runs", "c", "eager", role="baseline", measurement=measurement)
    listed = only_group().baseline
    assert listed.run.measurement.step_event_ns == () and len(listed.run.measurement.rounds) == 1
    assert listed.full_run.measurement.step_event_ns == (9, 10, 11)
    opened = library.entry("run/c/eager")
    assert opened.run.measurement.step_event_ns == (9, 10, 11)
    assert opened.full_run is opened.run
