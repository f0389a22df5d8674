"""Memory snapshots dropped alone: each is a run, and a hostile one is one sentence later."""

from profiler_core.ingest.formats import trace_format
from profiler_core.ingest.kinds import kind_of
from profiler_core.ingest.run import open_run
from profiler_core.store.upload_groups import Part, group
from tests.ingest.memory_snapshot.snapshots import SNAPSHOT, pickled


def parts(folder, *names):
    for name in names:
        (folder / name).write_bytes(pickled(SNAPSHOT))
        yield Part(name, folder / name, kind_of(folder / name))


def test_two_snapshots_are_two_runs(tmp_path):
    found = group(parts(tmp_path, "eager.pickle", "compiled.pickle"))
    assert [run.name for run in found.runs] == ["compiled", "eager"]
    assert [list(run.files) for run in found.runs] == [["memory_snapshot.pickle"]] * 2
    assert found.notes == ()


def test_a_snapshot_beside_a_trace_belongs_to_it(tmp_path):
    (tmp_path / "t.json").write_text('{"traceEvents": []}')
    trace = Part("t.json", tmp_path / "t.json", trace_format("kineto"))
    found = group([*parts(tmp_path, "memory.pickle"), trace])
    assert len(found.runs) == 1
    assert set(found.runs[0].files) == {"trace.json", "memory_snapshot.pickle"}


def test_a_snapshot_alone_is_opened(tmp_path):
    (part,) = parts(tmp_path, "mine.pickle")
    assert open_run(part.path).memory_snapshot == part.path
