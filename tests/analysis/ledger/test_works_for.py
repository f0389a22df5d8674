"""What a generated call does for another's operator, held against the generated code's text."""

import re
from functools import cache
from pathlib import Path

import pytest

from profiler_core.analysis.item import group_item
from profiler_core.analysis.ledger.ownership import ownership
from profiler_core.analysis.ledger.works_for import works_for
from profiler_core.model.inductor import CompiledGraph
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.session.run import Run

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
RUNS = sorted(
    path.parent
    for path in SAMPLES.glob("*/*/torch_trace")
    if not path.parent.name.startswith(("eager", "reduce"))
)
_INPUT = re.compile(r"(an input|\d+ inputs) of (?P<owner>\S+) for .* (is|are) (?P<done>.+?) by ")
_RESULT = re.compile(r"the result of .* is begun by (?P<first>\S+) and finished by (?P<last>\S+)")
_REUSED = re.compile(
    r"^\s*(buf\d+) = (?:reinterpret_tensor\()?(buf\d+)\b.*; del \w+  # reuse", re.MULTILINE
)
_TYPES = {"bf16": "torch.bfloat16", "f16": "torch.float16", "f32": "torch.float32"}


@cache
def graphs_of(run: Path) -> tuple[CompiledGraph, ...]:
    code = Run.open(run).code
    return code.graphs if code is not None else ()


def buffers_in(row: str) -> set[str]:
    return set(re.findall(r"\bbuf\d+\b", row))


def _first(buffer: str, reused: dict[str, str]) -> str:
    """The buffer whose memory it has: one of equal type, or it would be a view of it."""
    return _first(reused[buffer], reused) if buffer in reused else buffer


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.parent.name)
def test_a_buffer_goes_from_the_one_call_to_the_other(run: Path) -> None:
    for graph in graphs_of(run):
        rows = graph.code.splitlines()
        reused = dict(_REUSED.findall(graph.code))
        for index, clause in works_for(graph, ownership(graph)).items():
            at = graph.calls[index].line - 1
            own = buffers_in(rows[at])
            own |= {reused[buffer] for buffer in own if buffer in reused}
            assert graph.calls[index].name in clause
            if told := _INPUT.match(clause):
                later = [row for row in rows[at + 1 :] if f"{told['owner']}(" in row]
                (handed, *_) = [own & buffers_in(row) for row in later if own & buffers_in(row)]
                if told["done"].startswith("converted to "):
                    made = _TYPES[told["done"].removeprefix("converted to ")]
                    names = "|".join(_first(buffer, reused) for buffer in handed)
                    allocated = [r for r in rows if re.match(rf"\s*({names}) = empty_strided", r)]
                    assert allocated and all(made in row for row in allocated), clause
            else:
                told = _RESULT.fullmatch(clause)
                assert told is not None, clause
                assert graph.calls[index].name in (told["first"], told["last"])
                other = told["first" if graph.calls[index].name == told["last"] else "last"]
                parts = [row for row in rows if re.search(rf"\b{re.escape(other)}(\.run)?\(", row)]
                assert any(own & buffers_in(row) for row in parts), clause


def test_what_only_copies_or_converts_has_no_arithmetic_in_its_source() -> None:
    done = set()
    for run in RUNS:
        for graph in graphs_of(run):
            for index, clause in works_for(graph, ownership(graph)).items():
                told = _INPUT.match(clause)
                if told is None:
                    continue
                source = graph.kernels[graph.calls[index].name].source
                body = source[source.index("tl.load") :]
                computes = re.search(r"tmp\d+ [-+*/] |libdevice|tl_math|triton_helpers", body)
                done.add(told["done"])
                assert (told["done"] == "computed") == (computes is not None), clause
    assert done == {"copied", "converted to bf16", "computed"}


def test_what_finishes_an_operator_is_not_told_to_prepare_it() -> None:
    """ "Prepares sum_1" was said of the second half of a reduction, of a bias "prepares x"."""
    code = [
        *graphs_of(SAMPLES / "ddp" / "default"),
        *graphs_of(SAMPLES / "simplecnn-training" / "default"),
    ]
    clauses = {clause for graph in code for clause in works_for(graph, ownership(graph)).values()}
    assert (
        "the result of aten.sum.dim_IntList (sum_1) is begun by triton_red_fused_sum_view_0 and "
        "finished by triton_per_fused_sum_view_1"
    ) in clauses
    assert (
        "the result of torch.conv2d (conv2d) is begun by extern_kernels.convolution and finished "
        "by triton_poi_fused_convolution_0"
    ) in clauses


def test_a_group_s_dossier_says_which_kernels_work_for_which() -> None:
    """ "Prepares attn_output_24." told nobody what is prepared, nor what for."""
    comparison = Comparison.open([SAMPLES / "bert" / variant for variant in ("eager", "default")])
    groups = comparison.pairs[0].ledger.groups
    number = next(
        number
        for number, group in enumerate(groups)
        if any("(attn_output_24)" in note for note in group.notes)
    )
    (told,) = [text for text in dossier(comparison, group_item(1, number)).about if "attn_" in text]
    assert told.startswith(
        "4 inputs of extern_kernels.bmm for torch._C._nn.scaled_dot_product_attention "
        "(attn_output_24) are computed by triton_poi_fused_addmm_clone_mul_transpose_view_1, "
    )
    kernels = {kernel.name for kernel in groups[number].candidate.kernels}
    assert set(re.findall(r"triton_\w+", told)) <= kernels
