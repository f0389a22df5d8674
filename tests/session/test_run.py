"""A run asked for what is known of it: versions, problems, and what a folder of runs is."""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from profiler_core.errors import BadInput, NothingToAnalyse
from profiler_core.session.cache import Cache
from profiler_core.session.comparison import Comparison
from profiler_core.session.folder import runs_of
from profiler_core.session.reading import InProcess
from profiler_core.session.run import Run
from tests.everything import comparisons
from tests.session.two_classes import write_runs

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "tests" / "fixtures" / "captures"
SAMPLES = ROOT / "sample_traces"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def breaky(tmp_path):
    return shutil.copytree(CAPTURES / "breaky.default", tmp_path / "breaky")


class _Counting(InProcess):
    def __init__(self):
        self.read = []

    def trace(self, path):
        self.read.append(path.name)
        return super().trace(path)

    def code(self, paths):
        self.read.append("code")
        return super().code(paths)


def test_nothing_is_read_before_it_is_asked_for(breaky):
    reading = _Counting()
    run = Run(Run.open(breaky).files, reading=reading, cache=Cache())
    assert run.record.variant == "default"
    assert reading.read == []
    assert run.summary is run.summary
    assert reading.read == ["trace.json.gz"]


def test_two_looks_at_one_version_share_an_answer(breaky):
    cache = Cache()
    first, second = (Run(Run.open(breaky).files, cache=cache) for _ in range(2))
    assert first.summary is second.summary
    assert first.compilation is second.compilation


def test_a_changed_file_is_another_version(breaky):
    before = Run.open(breaky)
    record = json.loads((breaky / "run.json").read_text())
    (breaky / "run.json").write_text(json.dumps({**record, "variant": "renamed"}))
    renamed = Run.open(breaky)
    (breaky / "torch_logs.txt").write_text("nothing\n")
    assert len({before.version, renamed.version, Run.open(breaky).version}) == 3


def test_a_log_that_cannot_be_read_costs_what_rests_on_it_alone(breaky, monkeypatch, capsys):
    (breaky / "torch_logs.txt").write_text("a log\n")
    whole = Run.open(breaky).summary

    def cut(_files):
        raise BadInput("The log is cut.", remedy="Copy it again.")

    monkeypatch.setattr("profiler_core.session.reading.read_compile_log", cut)
    (breaky / "torch_logs.txt").write_text("another log\n")
    run = Run.open(breaky)
    assert run.summary.n_kernels == whole.n_kernels
    assert run.compile_log is None
    assert [one.problem for one in run.problems("compile log")] == ["The log is cut."]
    assert run.problems("trace") == ()
    assert main(["compare", str(CAPTURES / "breaky.eager"), str(breaky), "--json"]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    assert candidate["fusion"] is not None
    assert "default: The log is cut." in candidate["notes"]
    assert main(["logs", str(breaky)]) == BadInput.exit_status


def test_a_damaged_trace_leaves_the_timed_rounds(home, capsys):
    first, second = write_runs(home / "pair")
    (second / "trace.json").write_text("{")
    assert main(["compare", str(first), str(second), "--json"]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    assert candidate["step_time"]["clock"] == "unprofiled"
    assert candidate["step_time"]["ratio"] == pytest.approx(9 / 7, rel=1e-3)
    assert candidate["fusion"] is None
    (note,) = (one for one in candidate["notes"] if one.startswith("tuned: "))
    assert "trace.json" in note


def test_a_damaged_trace_with_nothing_else_is_an_error(home, capsys):
    traces = []
    for run in write_runs(home / "pair"):
        (run / "run.json").unlink()
        traces.append(run / "trace.json")
    traces[1].write_text("{")
    assert main(["compare", *map(str, traces)]) == BadInput.exit_status
    assert "trace.json" in capsys.readouterr().err


def test_a_failure_of_the_moment_is_not_kept(breaky):
    class Failing(InProcess):
        def trace(self, path):
            raise BadInput(f"{path.name} could not be read: the reader was ended.", remedy="Again.")

    cache = Cache()
    files = Run.open(breaky).files
    failed = Run(files, reading=Failing(), cache=cache)
    assert failed.summary is None
    assert failed.alone.findings is None
    with pytest.raises(BadInput, match="the reader was ended"):
        failed.required_trace()
    again = Run(files, cache=cache)
    assert again.summary is not None
    assert again.alone.findings is not None


def test_a_run_without_a_trace_says_so(home):
    (home / "empty").mkdir()
    (home / "empty" / "run.json").write_text('{"variant": "lost", "status": "lost"}')
    with pytest.raises(NothingToAnalyse, match="it is lost"):
        Run.open(home / "empty").required_trace()


def test_break_even_is_one_number():
    """`compare` and `logs` had two: 143 437 and 143 434 on this sample."""
    folder = SAMPLES / "dynshape"
    pair = Comparison.open([folder / "eager", folder / "reduce-overhead"]).pairs[0]
    assert pair.numbers.compile.break_even_steps == pair.compilation.break_even_steps == 148_408


def test_other_workloads_pay_nothing_back(home, capsys):
    """`compare` called them different, and `logs` counted after how many steps it is paid back."""
    runs = [str(SAMPLES / "customcnn" / "eager"), str(SAMPLES / "dynshape" / "reduce-overhead")]
    assert main(["compare", *runs, "--json"]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    assert candidate["workloads_differ"]
    assert candidate["compile"]["break_even_steps"] is None
    assert main(["logs", runs[1], "--baseline", runs[0], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["break_even_steps"] is None


def test_a_folder_of_recorder_runs_is_what_the_library_takes_it_for(home, capsys):
    """They have no roles: `compare` refused the folder that the library opened."""
    runs = write_runs(home / "home" / "runs" / "mine")
    for run in runs:
        record = json.loads((run / "run.json").read_text())
        del record["role"]
        (run / "run.json").write_text(json.dumps(record))
    (group,) = (one for one in comparisons() if one.origin == "capture")
    assert [entry.path for entry in group.entries] == runs_of(runs[0].parent) == runs
    assert main(["compare", str(runs[0].parent), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["baseline"]["label"] == "eager"
    assert [one["label"] for one in answer["candidates"]] == ["tuned"]


def test_memory_of_another_rank_than_the_groups_says_so(monkeypatch):
    """And not that the allocations, which the page draws, were missing."""
    paths = [CAPTURES / f"smallcnn_cpu.{variant}" for variant in ("eager", "default")]
    comparison = Comparison([Run.open(path) for path in paths])
    monkeypatch.setattr(Run, "shown", property(lambda _: None))
    monkeypatch.setattr(Run, "shown_rank", property(lambda _: 1))
    memory = comparison.pairs[0].memory
    assert memory.vanished is None
    assert "groups, which are those of rank 1 here; the memory is that of rank 0" in memory.problem
