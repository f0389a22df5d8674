"""A merged trace, read back by Perfetto's own engine: it finds what we say, and drops nothing."""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from tests.export.perfetto_engine import Engine, perfetto

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
CUSTOM = ROOT / "tests" / "fixtures" / "captures" / "customcnn_b1"

BY_PROCESS = """
    from slice join thread_track on slice.track_id = thread_track.id
    join thread using (utid) join process using (upid)
"""
COUNTERS = """
    select process_counter_track.name, count(*), max(value) from counter
    join process_counter_track on counter.track_id = process_counter_track.id
    join process using (upid) where process.name glob 'baseline*' group by 1 order by 1
"""


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    """What `export --json` says of a sampled baseline and its candidate under CUDA graphs."""
    folder = tmp_path_factory.mktemp("exported")
    eager = Path(shutil.copytree(CUSTOM / "eager", folder / "eager"))
    origin_ns = _origin_ns(eager)
    (eager / "nvml.jsonl").write_text(
        "".join(
            json.dumps({"t_ns": origin_ns + at_ns, "gpu_index": 0, "power_w": power}) + "\n"
            for at_ns, power in ((-(10**11), 1.0), (-(10**6), 100.0), (10**6, 400.5), (10**12, 2.0))
        )
    )
    return _exported(folder, eager, CUSTOM / "reduce-overhead")


@pytest.fixture(scope="module")
def engine(answer, browser):
    with perfetto(browser) as engine:
        engine.load(Path(answer["path"]).read_bytes())
        yield engine


def test_kernels_and_their_times_are_ours(answer, engine: Engine):
    rows = engine.rows(
        f"select process.pid, count(*), sum(dur) {BY_PROCESS} where category = 'kernel' group by 1"
    )
    ours = [(run["pid"], run["n_kernels"], run["kernel_time_ns"]) for run in answer["runs"]]
    assert ours == sorted(rows)
    assert all(n > 50 for _, n, _ in ours)


@pytest.mark.parametrize("table", ["ops", "runtime", "annotations"])
def test_nothing_of_the_host_is_lost(answer, engine: Engine, table):
    categories = {
        "ops": ("cpu_op",),
        "runtime": ("cuda_runtime", "cuda_driver"),
        "annotations": ("user_annotation",),
    }[table]
    listed = ", ".join(f"'{c}'" for c in categories)
    rows = engine.rows(
        f"select process.pid, count(*), sum(dur) {BY_PROCESS} "
        f"where category in ({listed}) group by 1"
    )
    frames = [getattr(_trace(name), table) for name in ("eager", "reduce-overhead")]
    expected = [(i + 1, f.height, f["dur_ns"].sum()) for i, f in enumerate(frames) if f.height]
    assert sorted(rows) == expected


def test_the_engine_complains_about_nothing(engine: Engine):
    complaints = (
        "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
    )
    assert engine.rows(complaints) == []


def test_both_runs_begin_the_aligned_step_at_the_same_moment(engine: Engine):
    starts = engine.rows(
        f"select process.pid, min(ts) {BY_PROCESS} "
        "where category = 'user_annotation' and slice.name glob 'ProfilerStep*' group by 1"
    )
    assert len(starts) == 2
    assert len({ts for _, ts in starts}) == 1


def test_each_launch_leads_to_what_it_started(engine: Engine):
    wrong = engine.rows(
        """select count(*), sum(extract_arg(a.arg_set_id, 'args.correlation')
               != extract_arg(b.arg_set_id, 'args.correlation'))
           from flow join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id
           where a.category glob 'cuda_*'"""
    )
    (n, n_wrong), *_ = wrong
    assert (n, n_wrong) == (n, 0)
    assert n > 60


def test_groups_are_arguments_and_flows_between_the_runs(engine: Engine):
    flows = engine.rows(
        """select count(*), sum(extract_arg(a.arg_set_id, 'args.fusion_group')
                                = extract_arg(b.arg_set_id, 'args.fusion_group'))
           from flow join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id
           where a.category not glob 'cuda_*'"""
    )
    shared = engine.rows(
        f"""select count(*) from (select extract_arg(slice.arg_set_id, 'args.fusion_group') as g
            {BY_PROCESS} where g is not null group by g having count(distinct process.pid) = 2)"""
    )
    ((n, n_equal),) = flows
    assert n == n_equal == shared[0][0]
    assert n >= 5


def test_memory_and_power_are_counters(engine: Engine):
    found = {name: (n, highest) for name, n, highest in engine.rows(COUNTERS)}
    assert found["GPU 0 power (W)"] == (2, 400.5)  # not those of minutes away
    n, highest = found["GPU 0 allocated (bytes)"]
    memory = _trace("eager").memory.filter(_trace("eager").memory["device_type"] == 1)
    assert n > 10
    assert highest <= memory["total_allocated_bytes"].max()
    assert highest >= memory["total_allocated_bytes"].median()


def test_a_run_of_the_cpu_alone(tmp_path, browser):
    captures = CUSTOM.parent
    pair = (captures / "smallcnn_cpu.eager", captures / "smallcnn_cpu.default")
    answer = _exported(tmp_path, *pair)
    with perfetto(browser) as engine:
        engine.load(Path(answer["path"]).read_bytes())
        ((n,),) = engine.rows(
            "select count(*) from slice where extract_arg(arg_set_id, 'args.fusion_group') >= 0"
        )
    assert n > 10
    assert [run["n_kernels"] for run in answer["runs"]] == [0, 0]


def _exported(folder: Path, *runs: Path) -> dict:
    import contextlib
    import io

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        path = folder / "merged.json.gz"
        assert main(["export", *map(str, runs), "-o", str(path), "--json"]) == 0
    return json.loads(said.getvalue())


def _origin_ns(run: Path) -> int:
    opened = open_run(run)
    return open_trace(opened.trace).origin_ns


def _trace(name: str):
    return open_trace(open_run(CUSTOM / name).trace)
