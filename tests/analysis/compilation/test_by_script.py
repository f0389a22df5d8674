"""A run that is called eager and is not: told from its record, its trace or its logs."""

import shutil
from pathlib import Path

import msgspec
import pytest

from profiler_core.analysis.compilation.by_script import ScriptCompilation, regions_per_step
from profiler_core.analysis.gate.limits import QUANTITIES, parse_limit
from profiler_core.analysis.run_labels import own_name, variant_name
from profiler_core.analysis.wording.script_compilation import name_with, not_eager
from profiler_core.analysis.wording.verdict import details, statement
from profiler_core.model.compilation import Compilation, CompileLog
from profiler_core.model.run import CompiledByScript
from profiler_core.session.cache import Cache
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run
from tests.builders import AUTOGRAD, a_run, a_trace, op, step
from tests.made_up_runs import MadeUpRun, made_up_comparison

CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
TWO_BLOCKS = CompiledByScript(n_frames=1, n_modules=2, modules=("0", "1"))
REGION = "Torch-Compiled Region: {}/0"


def eager(**measurement):
    return a_run(*[2_000_000] * 12, variant="eager", role="baseline", interleaved=True,
                 **measurement)  # fmt: skip


def default():
    return a_run(*[1_000_000] * 12, variant="default", role="candidate", interleaved=True)


def of_blocks(variant="eager+bf16"):
    files = eager(compiled_by_script=TWO_BLOCKS)
    return msgspec.structs.replace(
        files, record=msgspec.structs.replace(files.record, variant=variant)
    )


def test_blocks_compiled_by_the_script_stand_in_every_name_of_the_run():
    comparison = made_up_comparison(MadeUpRun(of_blocks("eager")), MadeUpRun(default()))
    named = "eager, with 2 blocks compiled by the script"
    assert comparison.labels == (named, "default")
    record = comparison.baseline.record
    assert own_name(record, Path("x")) == variant_name(record) == named
    verdict = comparison.pairs[0].verdict
    assert statement(verdict).sentence.startswith(f"default is 2.00 times as fast as {named}: ")
    assert details(verdict)[0] == (
        "The baseline, eager, with 2 blocks compiled by the script, is not eager: Dynamo compiled "
        "1 frame in its process (0 and 1). So the ratio is not what compiling gains; for that, "
        "capture it with what the script compiles switched off (TORCH_COMPILE_DISABLE=1)."
    )


def test_the_gate_says_it_too():
    pair = made_up_comparison(MadeUpRun(of_blocks("eager")), MadeUpRun(default())).pairs[0]
    gate = pair.gate([parse_limit(QUANTITIES[0], "+3%")], [])
    assert "is not eager" in gate.notes[0]


def test_options_that_all_runs_share_are_still_left_out_of_the_labels():
    other = a_run(*[1_000_000] * 12, variant="default+bf16", role="candidate")
    labels = made_up_comparison(MadeUpRun(of_blocks()), MadeUpRun(other)).labels
    assert labels == ("eager, with 2 blocks compiled by the script", "default")


def test_an_eager_run_is_called_eager_and_nothing_is_said_of_it():
    comparison = made_up_comparison(MadeUpRun(eager(), an_eager_trace()), MadeUpRun(default()))
    assert comparison.labels == ("eager", "default")
    assert comparison.numbers.candidates[0].baseline_compiled is None


def an_eager_trace():
    return a_trace(annotations=[step(0, 0, 100)], ops=[op(10, 20, "aten::mm")])


def test_regions_are_counted_once_where_they_nest_and_per_thread():
    steps = [step(0, 0, 100), step(1, 100, 100)]
    regions = [
        op(10, 30, REGION.format(0)), op(20, 5, REGION.format(1)),  # one inside of the other
        op(40, 10, REGION.format(2)),  # begins where the first ends
        op(12, 30, REGION.format(3), AUTOGRAD),
        op(110, 10, REGION.format(0)),
    ]  # fmt: skip
    assert regions_per_step(a_trace(annotations=steps, ops=regions)) == 2.0
    assert regions_per_step(a_trace(annotations=steps, ops=[op(10, 20, "aten::mm")])) == 0


def test_graphs_of_a_torch_that_names_no_regions_are_counted():
    calls = [
        op(10, 5, "## Call CompiledFxGraph fabc ##"),
        op(20, 5, "## Call CompiledFxGraph f ##"),
    ]
    assert regions_per_step(a_trace(ops=calls)) == 2


def test_a_capture_whose_record_does_not_tell_is_told_by_its_trace():
    trace = a_trace(
        annotations=[step(0, 0, 100)],
        ops=[op(10, 5, REGION.format(0)), op(20, 5, REGION.format(0))],
    )
    comparison = made_up_comparison(MadeUpRun(eager(), trace), MadeUpRun(default()))
    assert comparison.labels[0] == "eager, with 2 regions compiled by the script"
    compiled = comparison.numbers.baseline.compiled_by_script
    assert compiled == ScriptCompilation(n_regions=2.0)
    assert "its trace holds 2 compiled regions per step" in not_eager("eager", compiled)


def test_a_recording_without_a_trace_is_told_by_its_logs():
    autotuned = Compilation(compile_id="1/0", direction="runtime")  # counted as a third one
    compiled = (Compilation(compile_id="0/0"), Compilation(compile_id="1/0"), autotuned)
    log = CompileLog(compilations=compiled)
    files = a_run(*[2_000_000] * 12, variant="eager", record={"spec": {"recorded": True}})
    run = MadeUpRun(files, log=log)
    assert run.compiled_by_script == ScriptCompilation(n_compilations=2)
    assert name_with("eager", run.compiled_by_script) == (
        "eager, with functions compiled by the script"
    )
    renamed = msgspec.structs.replace(files.record, variant="default")
    assert MadeUpRun(
        msgspec.structs.replace(files, record=renamed, path=Path("default")), log=log
    ).compiled_by_script is None  # fmt: skip


@pytest.mark.parametrize("source", ["smallcnn_cpu.eager", "smallcnn_cpu.default"])
def test_an_uploaded_trace_that_is_called_eager(tmp_path, source):
    path = tmp_path / "my_eager.json.gz"
    other = tmp_path / "my_compiled.json.gz"
    shutil.copy(CAPTURES / source / "trace.json.gz", path)
    shutil.copy(CAPTURES / "smallcnn_cpu.default" / "trace.json.gz", other)
    runs = [Run(Run.open(file).files, cache=Cache()) for file in (path, other)]
    labels = Comparison(runs, cache=Cache()).labels
    addition = ", with 1 region compiled by the script" if source == "smallcnn_cpu.default" else ""
    assert labels == (f"my_eager.json.gz{addition}", "my_compiled.json.gz")


def test_a_whole_model():
    whole = ScriptCompilation(is_whole=True, n_blocks=1, blocks=("",), n_frames=3)
    assert name_with("eager", whole) == "eager, compiled by the script"
    assert "Dynamo compiled 3 frames in its process. So" in not_eager("eager", whole)


def to_be_compiled(trace, log):
    files = a_run(
        *[2_000_000] * 12, variant="default", role="candidate", interleaved=True,
        record={"spec": {"compile": True}},
    )  # fmt: skip
    return MadeUpRun(files, trace, log)


def details_beside_eager(candidate):
    pair = made_up_comparison(MadeUpRun(eager(), an_eager_trace()), candidate).pairs[0]
    return pair, [*details(pair.verdict), *pair.gate([parse_limit(QUANTITIES[0], "+3%")], []).notes]


GIVEN_UP = (
    Compilation(compile_id="0/0", has_guarded_code=False, fail_type="Unsupported"),
    Compilation(compile_id="0/0", direction="runtime"),
)


@pytest.mark.parametrize("tried", [(), GIVEN_UP])
def test_a_candidate_that_compiled_nothing_is_told_first(tried):
    # As Accelerate's loop was on an H200: asked to compile, and no frame of it ever was.
    log = CompileLog(compilations=tried)
    pair, sentences = details_beside_eager(to_be_compiled(an_eager_trace(), log))
    assert sentences[0].startswith(
        "default compiled nothing: its logs hold no compilation and its trace no compiled region, "
        "so its step runs as eager code."
    )
    assert sum("compiled nothing" in sentence for sentence in sentences) == 2  # the gate's, too
    assert pair.numbers.compiled_nothing


@pytest.mark.parametrize(
    ("trace", "log"),
    [
        (a_trace(annotations=[step(0, 0, 100)], ops=[op(10, 5, REGION.format(0))]), CompileLog()),
        (an_eager_trace(), CompileLog(compilations=(Compilation(compile_id="0/0"),))),
        (an_eager_trace(), None),  # nobody can tell
        (None, CompileLog()),
        (a_trace(ops=[op(10, 20, "aten::mm")]), CompileLog()),  # no step was profiled
    ],
)
def test_where_something_was_compiled_or_nobody_can_tell_nothing_is_said(trace, log):
    _, sentences = details_beside_eager(to_be_compiled(trace, log))
    assert not any("compiled nothing" in sentence for sentence in sentences)
