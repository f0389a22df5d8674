"""Causes, compile seconds, steps of recompiles, and the whole report."""

import gzip
import json
import statistics
from pathlib import Path

import pytest

from profiler_core.analysis.compilation.causes import (
    BREAK_ROWS,
    CUDAGRAPH_ROWS,
    GUARD_ROWS,
    break_cause,
    guard_cause,
    registry_url,
)
from profiler_core.analysis.compilation.compile_time import compile_time
from profiler_core.analysis.compilation.cost import compile_cost, with_break_even
from profiler_core.analysis.compilation.recompiles import recompile_reports
from profiler_core.analysis.compilation.report import compilation_report, user_frame
from profiler_core.ingest.compile_log.reader import read_compile_log
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.ingest.torch_logs.reader import read_torch_logs
from profiler_core.model.compilation import (
    Compilation,
    CompileLog,
    Frame,
    GraphBreak,
    GuardFailure,
    Recompile,
)
from profiler_core.model.run import Measurement, RunRecord
from profiler_core.session.comparison import Comparison
from tests.builders import a_step_time
from tests.ingest.compile_corpus import FIXTURES as CORPUS

BREAKY = Path(__file__).resolve().parents[2] / "fixtures" / "graph_breaks" / "breaky"


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


# What each line of the corpus' program was written to break on; 78 and 77 by version.
KIND_BY_LINE = {
    15: "print", 20: "tensor_item", 27: "data_dependent_branch", 34: "time", 40: "c_extension",
    46: "files", 47: "files", 53: "numpy", 59: "explicit", 65: "logging", 71: "warnings",
    77: "dynamic_output_shape", 83: "tensor_item", 94: "disabled",
}  # fmt: skip


@pytest.mark.parametrize(
    "version", ["2.2.2", "2.4.1", "2.5.1", "2.7.1", "2.8.0", "2.11.0", "2.13.0", "2.15.0"]
)
def test_each_kind_of_break_is_told_in_every_version(version):
    log = read_torch_logs([CORPUS / version / "b1_break_kinds" / "torch_logs.rg.txt.gz"])
    own = [b for b in log.graph_breaks if b.file.endswith("script.py")]
    assert own
    assert {b.line: break_cause(b).key for b in own} == {b.line: KIND_BY_LINE[b.line] for b in own}


def test_a_break_in_torchs_own_optimizer_is_not_to_be_removed():
    step = Frame(file="/env/torch/optim/adamw.py", line=80, function="step", code="print(x)")
    user = Frame(file="train.py", line=9, function="one_step", code="opt.step()")
    for broken in (
        GraphBreak(file=step.file, line=80, function="step", reason="call print",
                   hints=("Remove the print.",), stack=(user, step)),
        GraphBreak(file="/env/torch/_ops.py", line=1, function="x", reason="call print",
                   hints=("Remove the print.",), stack=(user, step)),
    ):  # fmt: skip
        log = CompileLog(graph_breaks=(broken,))
        (report,) = compilation_report(log).breaks
        assert report.cause.key == "optimizer"
        assert report.advice == report.cause.change
        assert "Training(model, batches, loss, optimizer)" in report.advice
    ours = Frame(file="/src/profiler_core/capture/child/training.py", line=156, function="_run")
    skipped = GraphBreak(
        file="/env/site-packages/torch/_dynamo/external_utils.py", line=69, function="inner",
        reason="Attempted to call function marked as skipped", stack=(ours,),
        context="module: torch.optim.adam, qualname: Adam.step, skip reason: <missing reason>",
    )  # fmt: skip
    assert break_cause(skipped).key == "optimizer"
    of_user = GraphBreak(file="train.py", line=9, function="f", reason="call print", stack=(user,))
    assert break_cause(of_user).key != "optimizer"


@pytest.mark.parametrize(
    ("guard", "kind"),
    [
        ("tensor 'x' size mismatch at index 0. expected 4, actual 5", "size"),
        ("2 <= x.size()[0]", "size"),
        ("tensor 'x' rank mismatch. expected 1, actual 2", "rank"),
        ("tensor 'x' stride mismatch at index 0. expected 3, actual 1", "stride"),
        ("tensor 'x' dtype mismatch. expected Float, actual Double", "dtype"),
        ("tensor 'x' requires_grad mismatch. expected requires_grad=0", "requires_grad"),
        ("tensor 'x' dispatch key set mismatch. expected …", "requires_grad"),
        ("GLOBAL_STATE changed: grad_mode", "requires_grad"),
        ("___check_global_state()", "requires_grad"),
        ("GLOBAL_STATE changed: num_threads", "global_state"),
        ("self.step == 0", "module_attribute"),
        ("cfg.width == 64", "module_attribute"),
        ("self._modules['drop'].training == True", "module_attribute"),
        ("G['SCALE'] == 1.0", "global"),
        ("___check_obj_id(fn, …)", "identity"),
        ("___check_type_id(cfg, …), type=<class '__main__.Small'>", "identity"),
        ("len(xs) == 2", "container"),
        ("list(dict.keys(d))[1] == 'b'", "container"),
        ("n == 2", "number"),
        ("mode == 'a'", "number"),
        ("BACKEND_MATCH failure: torch.compile detected different backend callables", "backend"),
        ("something new", "other"),
    ],
)
def test_guards_are_classified(guard, kind):
    assert guard_cause(GuardFailure(guard=guard)).key == kind


def test_every_cause_says_what_happened_and_what_to_change():
    for row in (*BREAK_ROWS, *GUARD_ROWS, *CUDAGRAPH_ROWS):
        cause = row.cause
        assert cause.what.endswith(".") and cause.change.endswith(".")
        assert cause.url.startswith("https://docs.pytorch.org/docs/")
    keys = [row.cause.key for row in BREAK_ROWS]
    assert len(keys) == len(set(keys))


def test_a_registry_id_leads_to_its_page():
    assert registry_url("GB0059").endswith("/gb/gb0059.html")
    assert registry_url(None) is None


def test_your_line_is_the_innermost_one_outside_of_libraries():
    stack = (
        Frame("/home/user/model.py", 7, "forward"),
        Frame("/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", 1, "_call_impl"),
    )
    assert user_frame(stack, "/usr/lib/python3.12/logging/__init__.py", 3, "f").line == 7
    assert user_frame(stack[1:], "x.py", 3, "f") == Frame("x.py", 3, "f")
    # What runs a captured step is a library too, and the built-in workloads beside it are not.
    ours = "/src/profiler_core/capture/child"
    step, model = (
        Frame(f"{ours}/training.py", 156, "_run"),
        Frame(f"{ours}/models.py", 5, "forward"),
    )
    assert user_frame((step,), "x.py", 3, "f") == Frame("x.py", 3, "f")
    assert user_frame((stack[0], step), "x.py", 3, "f") == stack[0]
    assert user_frame((step, model), "x.py", 3, "f") == model


def a_compilation(compile_id="0/0", start=0, dur=10, **more):
    return Compilation(compile_id=compile_id, start_ns=start, dur_ns=dur, **more)


def test_compilations_that_nest_count_once():
    log = CompileLog(
        compilations=(
            a_compilation(start=0, dur=4_000_000_000),
            a_compilation(start=1_000_000_000, dur=2_000_000_000, direction="backward"),
            a_compilation(start=9_000_000_000, dur=1_000_000_000, direction="backward"),
            a_compilation(start=10_000_000_000, dur=5_000_000_000, direction="runtime"),
        )
    )
    found = compile_time(log)
    assert (found.seconds, found.forward_seconds, found.backward_seconds) == (5.0, 4.0, 3.0)
    assert found.runtime_seconds == 5.0


def test_ranks_compile_at_the_same_time():
    log = CompileLog(
        compilations=(
            a_compilation(dur=2_000_000_000, rank=0),
            a_compilation(dur=3_000_000_000, rank=1),
        )
    )
    assert compile_time(log).seconds == 3.0


def test_without_compilations_no_seconds_are_claimed():
    assert compile_time(None) is None
    assert compile_time(CompileLog()) is None


def test_a_recompile_costs_its_compilation_and_names_its_step():
    log = CompileLog(
        recompiles=(
            Recompile(
                function="f",
                file="m.py",
                line=3,
                compile_id="0/1",
                reasons=(GuardFailure(guard="n == 2"),),
            ),
        ),
        compilations=(a_compilation("0/0", 1_000, 500), a_compilation("0/1", 2_100, 200)),
    )
    measurement = Measurement(first_call_ns=900, warmup_step_ns=(100, 400, 100))
    (report,) = recompile_reports(log, measurement)
    assert (report.cost_ns, report.cause.key, report.step) == (200, "number", 2)


def test_breaks_are_ranked_and_priced_by_the_frame_that_breaks():
    run = open_run(BREAKY)
    report = compilation_report(
        read_compile_log(run), trace=open_trace(run.trace), measurement=run.record.measurement
    )
    first, second = report.breaks
    assert (first.place.line, first.cause.key) == (26, "tensor_item")
    assert first.cost_ns == pytest.approx(report.break_cost.cost_ns)
    # What follows the print runs eager since the limit was hit: no compiled call comes after it.
    assert (second.place.line, second.cause.key, second.cost_ns) == (28, "print", None)
    assert [r.cause.key for r in report.recompiles] == ["number"] + 7 * ["module_attribute"]
    assert [(h.limit, h.line) for h in report.log.limit_hits] == [("recompile_limit", 28)]
    assert report.eager_only is False


def test_break_even_needs_a_gain():
    taken = compile_time(CompileLog(compilations=(a_compilation(dur=3_000_000_000),)))

    cost = compile_cost(RunRecord(), compiling=taken, step_ns=None)

    def steps(verdict, saved_ns, clock="unprofiled"):
        time = a_step_time(9_000_000 + saved_ns, 9_000_000, clock=clock)
        return with_break_even(cost, None, verdict, time).break_even_steps

    assert steps("faster", 1_000_000) == 3000
    assert steps("slower", -1_000_000) is None
    assert steps("no_verdict", 1_000_000, "profiled") is None


def test_breaks_without_a_trace_are_ranked_by_how_often_they_were_met():
    rare = GraphBreak(file="m.py", line=1, function="f", reason="a", n=1)
    often = GraphBreak(file="m.py", line=2, function="f", reason="b", n=9)
    report = compilation_report(CompileLog(graph_breaks=(rare, often)))
    assert [r.event.line for r in report.breaks] == [2, 1]
    assert report.breaks[0].cost_ns is None


def test_break_even_by_hand_on_a_shipped_sample():
    """Compile seconds / (baseline - candidate seconds per step), from the raw files alone."""
    folder = Path(__file__).resolve().parents[3] / "sample_traces" / "bert"

    def median_step_s(variant):
        rounds = json.loads((folder / variant / "run.json").read_text())["measurement"]["rounds"]
        return statistics.median(r["wall_ns"] / r["n_steps"] for r in rounds) / 1e9

    # Inference without recompiles: each forward compilation says what it took, and a record of
    # its own what was autotuned at the first calls.
    took, tuned = [], []
    for path in (folder / "default" / "torch_trace").iterdir():
        text = gzip.decompress(path.read_bytes()).decode()
        for key, into in (("compilation_metrics", took), ("compilation_metrics_runtime", tuned)):
            records = [r for r in text.splitlines() if f'"{key}": {{' in r]
            metrics = [json.loads(r[r.index("{") :])[key] for r in records]
            into += [m["duration_us"] / 1e6 for m in metrics]
    seconds = sum(took)
    saved = median_step_s("eager") - median_step_s("default")
    by_hand = (seconds + sum(tuned)) / saved

    pair = Comparison.open([folder / "eager", folder / "default"]).pairs[0]
    report = pair.compilation
    assert report.break_even_steps == pair.numbers.compile.break_even_steps
    assert len(took) == 1
    assert report.compile_time.seconds == pytest.approx(seconds, rel=0.01)
    assert report.break_even_steps == pytest.approx(by_hand, rel=0.01)
