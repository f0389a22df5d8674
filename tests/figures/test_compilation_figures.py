from pathlib import Path

import pytest

from profiler_core.analysis.compilation.causes import OTHER_GUARD
from profiler_core.analysis.compilation.compile_time import compile_time
from profiler_core.analysis.compilation.phases import compile_phases, stage_of
from profiler_core.analysis.compilation.recompiles import RecompileReport
from profiler_core.figures.compilation_icicle import compilation_icicle
from profiler_core.figures.compilation_steps import recompile_steps, recompile_times
from profiler_core.figures.theme import DARK, LIGHT
from profiler_core.ingest.compile_log.reader import read_compile_log_files
from profiler_core.model.compilation import Compilation, CompileLog, GuardFailure, Phase, Recompile
from profiler_core.session.run import Run
from tests.larger import LARGER

SAMPLES = Path(__file__).parents[2] / "sample_traces"

LOG = CompileLog(
    compilations=(
        Compilation(
            compile_id="0/0",
            function="forward",
            start_ns=0,
            dur_ns=1000,
            phases=(
                Phase(path=("dynamo",), n=1, start_ns=0, dur_ns=1000),
                Phase(path=("dynamo", "inductor_compile"), n=1, start_ns=100, dur_ns=700),
                Phase(path=("dynamo", "async_compile.wait"), n=3, start_ns=100, dur_ns=700),
                Phase(path=("dynamo", "too_short"), n=1, start_ns=100, dur_ns=1),
            ),
        ),
    )
)


def a_report(step, guard="n == 2"):
    found = Recompile(function="f", file="m.py", line=1, reasons=(GuardFailure(guard=guard),))
    return RecompileReport(
        found, OTHER_GUARD, cost_ns=5_000_000, start_ns=10 * (step or 0), step=step
    )


def test_boxes_never_hold_more_than_their_parent():
    nodes = compile_phases(LOG)
    by_key = {node.key: node for node in nodes}
    for node in nodes:
        inside = sum(n.dur_ns for n in nodes if n.parent == node.key)
        assert inside <= node.dur_ns
        assert not node.parent or node.parent in by_key
    # 700 + 700 of two threads in a parent of 1000: the second is cut to what is left.
    assert [n.dur_ns for n in nodes] == [1000, 1000, 1000, 700, 300]


def test_phases_that_are_named_after_code_keep_its_underscores():
    """A box said "Scheduler.  init"."""
    names = ("entire_frame_compile", "Scheduler.__init__", "GraphLowering.compile_to_fn")
    phases = tuple(Phase(path=(name,), n=1, start_ns=0, dur_ns=100) for name in names)
    log = CompileLog(compilations=(Compilation(compile_id="0/0", dur_ns=900, phases=phases),))
    assert [node.label for node in compile_phases(log)[2:]] == [
        "entire frame compile", "Scheduler.__init__", "GraphLowering.compile_to_fn",
    ]  # fmt: skip


def test_phases_belong_to_the_part_of_the_compiler_that_their_name_says():
    assert stage_of("bytecode_tracing") == "dynamo"
    assert stage_of("create_aot_dispatcher_function") == "aot"
    assert stage_of("GraphLowering.run") == "inductor"
    assert stage_of("async_compile.wait") == "codegen"
    assert stage_of("CachingAutotuner.benchmark_all_configs") == "autotune"


def test_without_timed_compilations_there_is_nothing_to_draw():
    assert compile_phases(CompileLog()) == ()


def test_what_was_compiled_in_pieces_is_one_box_with_its_phases_once():
    """Of a backward in three pieces each had the phases of all: 15.4 s stood beside 8.09 s."""
    phases = (Phase(path=("backward",), n=3, start_ns=0, dur_ns=900),)
    pieces = tuple(
        Compilation(compile_id="4/1", direction="backward", dur_ns=ns, phases=phases)
        for ns in (200, 600, 100)
    )
    root, box, phase = compile_phases(CompileLog(compilations=pieces))
    assert (root.dur_ns, box.label, box.dur_ns, phase.dur_ns) == (900, "4/1 (backward)", 900, 900)


@pytest.mark.parametrize("sample", ["ddp/default", "bert/default", "breaky/default"])
def test_the_boxes_come_to_the_compile_time_and_what_the_first_calls_took(sample):
    """Phases begin before the duration that the log gives: 9.30 s stood above 9.29 s."""
    log = Run.open(SAMPLES / sample).compile_log
    seconds = compile_time(log)
    told = seconds.seconds + seconds.runtime_seconds
    assert compile_phases(log)[0].dur_ns / 1e9 == pytest.approx(told, rel=1e-9)


def test_compilations_that_nest_and_those_of_other_ranks_are_in_the_boxes_once():
    """They were added up: 2.43 s stood below "compiling took 1.31 s" of two ranks."""

    def compiled(compile_id, start, dur, direction="forward", rank=0):
        return Compilation(
            compile_id=compile_id, direction=direction, start_ns=start, dur_ns=dur, rank=rank,
            phases=(Phase(path=("dynamo",), n=1, start_ns=0, dur_ns=dur),),
        )  # fmt: skip

    log = CompileLog(
        compilations=(
            compiled("0/0", 0, 1000),
            compiled("0/0", 400, 500, "backward"),  # inside the forward's
            compiled("1/0", 900, 300),  # its last 200 alone
            compiled("1/0", 900, 150, "runtime"),
            compiled("0/0", 0, 1100, rank=1),
        )
    )
    boxes = [(node.label, node.dur_ns) for node in compile_phases(log) if node.stage == "other"]
    assert boxes == [
        ("compiling and autotuning", 1350), ("0/0", 1000), ("1/0", 200), ("1/0 (runtime)", 150),
    ]  # fmt: skip
    took = compile_time(log)
    assert (took.seconds, took.runtime_seconds) == (1200e-9, 150e-9)


@pytest.mark.parametrize("log", ["2.15.0/g_ddp", "2.4.1/g_ddp", "2.5.1/e_training"])
def test_boxes_of_ranks_and_of_a_backward_without_times_come_to_the_compile_time(log):
    files = (LARGER / "torch_logs" / log / "torch_trace").iterdir()
    read = read_compile_log_files(list(files))
    told = compile_time(read)
    assert compile_phases(read)[0].dur_ns / 1e9 == pytest.approx(
        told.seconds + told.runtime_seconds, rel=1e-9
    )


def test_a_backward_without_a_duration_takes_what_its_phases_do():
    """torch 2.5 logs none: 11.8 s were said of 17.1 s."""
    files = (LARGER / "torch_logs" / "2.5.1" / "e_training" / "torch_trace").iterdir()
    took = compile_time(read_compile_log_files(list(files)))
    # frames 3.5608 and 8.2493 s by plain JSON, and the backward between them
    assert took.seconds == pytest.approx(3.560842514 + 8.249253035 + 5.26420675, rel=1e-9)


def test_the_icicle_is_drawn_in_both_modes():
    for palette in (LIGHT, DARK):
        figure = compilation_icicle(compile_phases(LOG), palette)
        assert figure.data[0].type == "icicle"
        assert figure.data[0].branchvalues == "total"
        assert figure.data[0].labels[0] == "all compilations, 1.00 µs"


def test_steps_that_compiled_again_stand_out():
    steps = (9_000_000_000, 200_000_000, 1_000_000, 1_000_000)
    figure = recompile_steps([a_report(1), a_report(1), a_report(None)], steps, LIGHT)
    assert list(figure.data[0].marker.color) == [
        LIGHT.baseline, LIGHT.worse, LIGHT.baseline, LIGHT.baseline,
    ]  # fmt: skip
    assert list(figure.data[0].text) == ["", "2×", "", ""]  # once says the colour alone
    assert "ms" in figure.layout.yaxis.title.text
    assert figure.layout.yaxis.exponentformat == "none"  # "10k" stood above "1000"
    assert figure.layout.template.layout.separators == ".\u202f"  # "10,000" above it


def test_markup_in_a_guard_is_escaped():
    figure = recompile_steps([a_report(0, "<b>x</b>")], (1, 2), LIGHT)
    assert "<b>" not in figure.data[0].hovertext[0]


def test_without_steps_recompiles_stand_on_the_clock():
    figure = recompile_times([a_report(1), a_report(2)], LIGHT)
    assert "seconds" in figure.layout.xaxis.title.text
