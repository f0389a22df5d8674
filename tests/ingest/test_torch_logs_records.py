"""One wording at a time: prefixes, reasons, CUDA graphs, fusion, errors."""

import pytest

from profiler_core.ingest.compile_log.visibility import TABLE, names_in
from profiler_core.ingest.torch_logs.breaks import original_function, parse_break
from profiler_core.ingest.torch_logs.other import parse_cudagraph
from profiler_core.ingest.torch_logs.prefix import parse_prefix
from profiler_core.ingest.torch_logs.reader import read_torch_logs
from profiler_core.ingest.torch_logs.recompiles import parse_guard, parse_recompile
from profiler_core.ingest.torch_trace.phases import PhaseTally
from tests.ingest.compile_corpus import FIXTURES


@pytest.mark.parametrize(
    ("line", "stream", "compile_id", "artifact"),
    [
        ("V1121 08:26:53.163000 6217 torch/_dynamo/guards.py:3508] [0/1] [__recompiles] x",
         ("6217", None), "0/1", "recompiles"),
        ("[rank1]:V1121 08:26:53.163000 6217 torch/a b.py:1] [0/0_1] [__guards] x",
         ("6217", 1), "0/0", "guards"),
        ("[default0]:[rank3]:V1121 08:26:53.163000 6217 torch/a.py:1] [!1/3/0] y",
         ("6217", 3), "!1/3/0", None),
        ("[2026-11-21 08:15:04,592] [2/1] torch._dynamo.guards.__recompiles: [DEBUG] x",
         ("", None), "2/1", "recompiles"),
        ("  3: W1121 08:26:53.163000 6217 torch/a.py:7] [-/0] z", ("6217", 3), "-/0", None),
        ("W1121 08:26:53.163000 6217 <frozen importlib>:7] z", ("6217", None), None, None),
        ("DEBUG:torch._dynamo.guards.__recompiles:Rec", ("short", None), None, "recompiles"),
    ],
)  # fmt: skip
def test_prefixes_of_all_versions_and_launchers(line, stream, compile_id, artifact):
    prefix = parse_prefix(line)
    assert prefix is not None
    assert (prefix.stream, prefix.compile_id, prefix.artifact) == (stream, compile_id, artifact)


@pytest.mark.parametrize("line", ["", "Epoch 1: loss 0.1 [info] x: 3", "V1121 was a good year"])
def test_program_output_has_no_prefix(line):
    assert parse_prefix(line) is None


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("torch_dynamo_resume_in_forward_at_34", "forward"),
        ("resume_in_f", "f"),
        ("<resume in f>", "f"),
        ("torch_dynamo_resume_in_torch_dynamo_resume_in_f_at_3_at_9", "f"),
        ("forward", "forward"),
    ],
)
def test_code_after_a_break_belongs_to_its_function(name, function):
    assert original_function(name) == function


def test_a_guard_is_taken_apart():
    guard = parse_guard(
        "2/0: len(xs) == 2                # for x in xs:  # ome/user/script.py:40 in by_list"
        " (HINT: torch.compile considers integers static.)"
    )
    assert (guard.guard, guard.entry) == ("len(xs) == 2", "2/0")
    assert (guard.code, guard.file, guard.line) == ("for x in xs:", "ome/user/script.py", 40)
    assert guard.hint == "torch.compile considers integers static."


def test_locals_and_addresses_are_normalised():
    assert (
        parse_guard("___check_obj_id(L['fn'], 139692592088704)").guard == "___check_obj_id(fn, …)"
    )


def test_the_tuple_of_2_1_is_one_recompile():
    parsed = parse_recompile(
        ["('Recompiling function f in /x/demo.py:4', \"triggered by the following guard failure:"
         " tensor 'L['x']' size mismatch at index 0. expected 4, actual 5\")"]
    )  # fmt: skip
    assert (parsed.function, parsed.file, parsed.line) == ("f", "/x/demo.py", 4)
    assert parsed.reasons[0].guard == "tensor 'x' size mismatch at index 0. expected 4, actual 5"


def test_a_break_that_skips_the_frame_names_the_frame():
    parsed = parse_break(
        [
            "Graph break: torch.compile cannot properly resume from this graph break, which …",
            "torch.compile will skip tracing the frame forward (/x/model.py line 54) and …",
            "The graph break occurred in the following user code:",
            '  File "/x/model.py", line 61, in forward',
            "    with scope():",
        ]
    )
    assert parsed.skipped
    assert (parsed.skipped_function, parsed.skipped_line) == ("forward", 54)
    assert (parsed.file, parsed.line) == ("/x/model.py", 61)


def test_hints_context_and_registry_id_are_read():
    log = read_torch_logs([FIXTURES / "2.15.0" / "b1_break_kinds" / "torch_logs.rg.txt.gz"])
    found = next(b for b in log.graph_breaks if b.line == 15)
    assert found.reason == "Failed to trace builtin operator"
    assert found.gb_id == "GB0059"
    assert found.hints[1].startswith("If you are attempting to call a logging function")
    assert found.stack[-1].code.startswith("print(")


@pytest.mark.parametrize(
    ("lines", "kind", "reason", "line"),
    [
        (["skipping cudagraphs due to mutated inputs (1 instances). Found from : ",
          '   File "/x/m.py", line 12, in f', "    x.add_(1)"],
         "skip", "mutated inputs (1 instances)", 12),
        (["skipping cudagraphs due to disabling cudagraphs due to incompatible op aten.x"], "skip",
         "disabling cudagraphs due to incompatible op aten.x", None),
        (["skipping cudagraph due to function 3 exceeding max re-recording limit (=128) on …"],
         "re-record", "function 3 exceeding max re-recording limit (=128) on …", None),
        (["CUDAGraph supports dynamic shapes by recording a new graph for each distinct input "
          "size. We have observed 9 distinct sizes."],
         "re-record", "a new graph for each of at least 9 distinct input sizes, as many as there "
         "were when PyTorch warned", None),
        (["    op3: reason=cpu ops, ir=FallbackKernel, fx=aten.item",
          '         File "/x/m.py", line 7, in f'], "partition", "cpu ops", 7),
    ],
)  # fmt: skip
def test_what_happened_to_cuda_graphs(lines, kind, reason, line):
    event = parse_cudagraph(lines)
    assert (event.kind, event.reason, event.line) == (kind, reason, line)


def test_nobody_asked_for_cuda_graphs_is_no_event():
    folder = FIXTURES / "2.11.0" / "cudagraphs"
    assert not read_torch_logs([folder / "torch_logs.not_asked.txt.gz"]).cudagraph_events
    (recorded,) = read_torch_logs([folder / "torch_logs.recorded.txt.gz"]).cudagraph_events
    assert (recorded.kind, recorded.n) == ("record", 1)


def test_refused_fusions_are_listed_with_their_reason():
    log = read_torch_logs([FIXTURES / "2.15.0" / "fusion" / "torch_logs.fusion.txt.gz"])
    refused = {(d.first, d.second): d.reason for d in log.fusion_decisions}
    assert refused["op1", "op6"] == "intermediate nodes between node1 & node2"
    assert refused["op1_op10", "op11"] == "Fusion will increase peak memory"
    assert {h.text for h in log.perf_hints} == {
        "Skip comprehensive padding on CPU",
        "Using FallbackKernel: torch.ops.aten.sort.stable",
    }


def test_a_suppressed_and_a_fatal_error_are_told_apart():
    log = read_torch_logs([FIXTURES / "2.4.1" / "h2_backend_error" / "torch_logs.rg.txt.gz"])
    assert [(f.suppressed, f.error, f.function) for f in log.failures] == [
        (True, "BackendCompilerFailed", "suppressed"),
        (False, "BackendCompilerFailed", None),
    ]


def test_the_warning_about_tensor_item_is_no_break():
    log = read_torch_logs([FIXTURES / "2.15.0" / "b1_break_kinds" / "torch_logs.plain.txt.gz"])
    assert not log.graph_breaks
    assert log.other_records["hint about Tensor.item()"] == 1


def test_a_python_that_ignores_guards_is_a_warning(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(
        "/x/guards.py:1176: RuntimeWarning: Guards may run slower on Python 3.13.0. Consider …\n"
    )
    assert "stale" in read_torch_logs([path]).warnings[0]


def test_the_wording_narrows_the_version():
    spans = {
        version: read_torch_logs(
            [FIXTURES / version / "b1_break_kinds" / "torch_logs.rg.txt.gz"]
        ).version_range
        for version in ("2.2.2", "2.4.1", "2.8.0", "2.15.0")
    }
    assert spans == {
        "2.2.2": ("2.1", "2.2"),
        "2.4.1": ("2.3", "2.4"),
        "2.8.0": ("2.7", ""),
        "2.15.0": ("2.10", ""),
    }


def test_what_torch_logs_asked_for_is_not_missing(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("nothing happened\n")
    asked = names_in("+recompiles_verbose, graph_breaks,-dynamic")
    assert asked == {"recompiles_verbose", "graph_breaks", "dynamic"}
    told = {bound.sentence for bound in read_torch_logs([path], requested=asked).lower_bound}
    untold = {bound.sentence for bound in read_torch_logs([path]).lower_bound}
    assert len(untold - told) == 2


def test_a_doubt_about_breaks_needs_a_break():
    """It stood below a run that hit the recompile limit and has no break."""
    loop = "A break inside a loop looks like any other break"
    for scenario, is_said in (("d1_recompile_limit", False), ("b1_break_kinds", True)):
        log = read_torch_logs([FIXTURES / "2.8.0" / scenario / "torch_logs.rg.txt.gz"])
        assert bool(log.graph_breaks) == is_said
        assert any(bound.sentence.startswith(loop) for bound in log.lower_bound) == is_said


def test_every_row_of_the_visibility_table_is_a_sentence():
    assert all(row.since <= row.until and row.sentence.endswith(".") for row in TABLE)


def test_phases_with_the_same_path_add_up():
    tally = PhaseTally()
    for name, ph, ts in (
        ("dynamo", "B", 10.0), ("pass", "B", 11.0), ("pass", "E", 13.0),
        ("pass", "B", 14.0), ("pass", "E", 15.0), ("lost", "B", 16.0), ("dynamo", "E", 20.0),
    ):  # fmt: skip
        tally.add({"name": name, "ph": ph, "ts": ts}, "0/0#1")
    dynamo, passes = tally.phases("0/0#1", "forward")
    assert (dynamo.path, dynamo.n, dynamo.dur_ns) == (("dynamo",), 1, 10_000)
    assert (passes.path, passes.n, passes.dur_ns) == (("dynamo", "pass"), 2, 3_000)
