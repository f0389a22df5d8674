"""What runs are called on the pages."""

from pathlib import Path

from profiler_core.model.run import RunRecord
from profiler_core.store.library import Entry
from profiler_core.ui.choice import labels_of


def an_entry(variant, *, key="run/c/1", workload="resnet50", **more):
    record = RunRecord(variant=variant, workload=workload, **more)
    return Entry(key=key, path=Path("/runs") / key, run=record, origin="capture")


def test_shared_options_are_left_out_and_others_kept():
    entries = [an_entry("eager+bf16"), an_entry("default+bf16+dynamic")]
    assert labels_of(entries) == ("eager", "default+dynamic")


def test_the_same_variant_of_two_weeks_is_told_by_its_time():
    entries = [
        an_entry("default", created_at="2026-11-14T09:30:00Z"),
        an_entry("default", created_at="2026-11-21T10:00:00Z"),
    ]
    assert labels_of(entries) == (
        "default, 14 Nov 2026, 09:30 UTC",
        "default, 21 Nov 2026, 10:00 UTC",
    )


def test_the_same_variant_of_two_captures_is_told_by_their_names():
    entries = [
        an_entry("default", key=f"run/{day}/default", name=f"{name} default", capture_id=day,
                 created_at="2026-11-14T09:30:00Z")
        for day, name in (("20261114-a", "before the fix"), ("20261121-b", "after the fix"))
    ]  # fmt: skip
    assert labels_of(entries) == ("before the fix default", "after the fix default")


def test_the_same_variant_of_two_folders_is_told_by_the_folders():
    entries = [an_entry("eager", key=f"path/{folder}/eager") for folder in ("old", "new")]
    assert labels_of(entries) == ("old/eager", "new/eager")
    entries = [an_entry("eager", key=f"path/runs/{name}") for name in ("monday", "tuesday")]
    assert labels_of(entries) == ("runs/monday", "runs/tuesday")


def test_the_folder_of_a_capture_is_an_id_and_tells_nothing():
    entries = [
        an_entry("eager", key=f"run/{capture}/eager", capture_id=capture, name="resnet50 eager",
                 created_at=f"2026-11-{day}T09:30:00Z")
        for day, capture in ((14, "20261114-a"), (21, "20261121-b"))
    ]  # fmt: skip
    assert labels_of(entries) == (
        "eager, 14 Nov 2026, 09:30 UTC",
        "eager, 21 Nov 2026, 09:30 UTC",
    )


def test_different_workloads_are_named_though_the_variants_differ():
    entries = [an_entry("eager", workload="bert"), an_entry("default", workload="resnet50")]
    assert labels_of(entries) == ("bert · eager", "resnet50 · default")
    # An upload without run.json has none: its own name tells it.
    assert labels_of([entries[0], an_entry("mine", workload="")]) == ("eager", "mine")


def test_traces_of_one_name_are_told_by_their_folders(tmp_path):
    entries = []
    for folder in ("bert.eager", "bert.default"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "trace.json.gz"
        path.write_bytes(b"")
        entries.append(
            Entry(key=f"path{path}", path=path, run=RunRecord(name=path.name), origin="path")
        )
    assert labels_of(entries) == ("bert.eager", "bert.default")
    assert labels_of(entries[:1]) == ("trace.json.gz",)


def test_long_names_are_clipped_as_long_as_they_differ():
    first, second = labels_of([an_entry("a" * 200 + "1"), an_entry("a" * 200 + "2")])
    assert max(len(first), len(second)) <= 60
    assert first != second
    same = labels_of([an_entry("b" * 90 + "1" + "b" * 90), an_entry("b" * 90 + "2" + "b" * 90)])
    assert len(set(same)) == 2


def test_long_names_of_uploads_keep_what_differs():
    names = [
        "my_resnet50_serving_eager_trace_2026-11-03.json.gz",
        "my_resnet50_serving_compiled_trace_2026-11-03.json.gz",
    ]
    assert labels_of([an_entry(name) for name in names]) == ("eager", "compiled")
    assert labels_of([an_entry(names[0])]) == (names[0],)
    one_is_all_shared = ["one_long_name_of_a_trace.json.gz", "one_long_name_of_a_trace_b.json.gz"]
    assert labels_of([an_entry(name) for name in one_is_all_shared]) == tuple(one_is_all_shared)
