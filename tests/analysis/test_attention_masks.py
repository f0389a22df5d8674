"""Whether attention is handed a mask: the sample of BERT, and the same edited."""

import gzip
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace as struct_replace

from profiler_core.analysis.attention_masks import masks_of
from profiler_core.analysis.finding_rules.facts import Facts
from profiler_core.analysis.finding_rules.regressions import RULES
from profiler_core.analysis.handed_more import MASK_POSITIONS, HandedMore
from profiler_core.session.comparison import Comparison
from tests.analysis.test_findings import BERT, facts
from tests.lazily import Lazily
from tests.reference import read_events

torch = Lazily("torch")

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
ATTENTION = "scaled_dot_product_attention"
HANDED = "Attention is handed a mask here, which the baseline leaves out."


@cache
def bert() -> Facts:
    code = Comparison.open([SAMPLES / BERT[0]]).baseline.code
    return replace(facts(*BERT), code=code)


def slower_attention(case: Facts) -> tuple[str, str]:
    (finding,) = (f for rule in RULES if (f := rule(case)) and f.key == "slower_attention")
    return finding.evidence, finding.advice


def test_compiled_attention_is_handed_a_mask_that_eager_leaves_out() -> None:
    """ "Where it is handed a mask …" stood there, which trace and graph tell."""
    (path,) = (SAMPLES / BERT[1]).glob("trace.json*")
    calls = [e for e in read_events(path) if e["name"] == f"aten::{ATTENTION}"]
    assert len(calls) == 12 * 5
    assert {(*call["args"]["Input Dims"][3], call["args"]["Input type"][3]) for call in calls} == {
        ("",)  # no shape, no type
    }
    (path,) = (SAMPLES / BERT[0] / "torch_trace").iterdir()
    log = gzip.decompress(path.read_bytes()).decode()
    traced = re.findall(rf"torch\._C\._nn\.{ATTENTION}\((.*?)\);", log)
    assert len(traced) >= 12
    assert all(", attn_mask = attention_mask_1, " in arguments for arguments in traced)
    evidence, advice = slower_attention(bert())
    assert HANDED in evidence
    assert advice.startswith("Leave the mask out as the baseline does.")


def test_the_mask_that_the_graph_makes_is_no_argument_of_the_caller() -> None:
    """ "Pass attention_mask=None" stood there, which is how the sample was captured.

    The judge reads the printed graph backwards from the mask, by names alone.
    """
    signature, maker, *lines = judged_mask(SAMPLES / BERT[0])
    assert "mask" not in signature
    assert maker == "q_indices >= 0"
    evidence, advice = slower_attention(bert())
    assert "from none of its arguments" in evidence
    for line in lines:  # masking_utils.py:90, and that of its arange
        assert line in evidence
    assert lines[0] in advice and "a newer version of transformers" in advice
    assert "attention_mask=None" not in advice and "is_causal" not in advice


def judged_mask(folder: Path) -> tuple[str, str, str, str]:
    """Signature of the traced graph, what makes its mask, and the lines of that and of its start.

    The graph as it is printed; values are followed by their names, without any of our readers.
    """
    (path,) = (folder / "torch_trace").iterdir()
    log = gzip.decompress(path.read_bytes()).decode()
    # The first printed graph with an attention is Dynamo's own.
    graph = next(
        text
        for text in log.split("class GraphModule")[1:]
        if f"_nn.{ATTENTION}(" in text and "def forward(self, L_" in text
    )
    value_of, line_of, line = {}, {}, ""
    for row in graph.splitlines():
        if file := re.match(r"\s*# File: .*/([^/]+:\d+) in ", row):
            line = file[1]
        elif value := re.match(r"\s+(\w+)(?:: \"[^\"]*\")? = (.*?)(?:;  .*)?$", row):
            value_of.setdefault(value[1], value[2])
            line_of.setdefault(value[1], line)
    name = re.search(r"attn_mask = (\w+)", graph)[1]
    chain = [name]
    while names := [
        other for other in re.findall(r"\w+", value_of[chain[-1]]) if other in value_of
    ]:
        (following,) = set(names)
        chain.append(following)
    maker = next(name for name in chain if re.search(r" [<>=&|]=? ", value_of[name]))
    signature = re.search(r"def forward\((.*)\):", graph)[1]
    return signature, value_of[maker], line_of[maker], line_of[chain[-1]]


def edited(given: tuple[str, ...]) -> Facts:
    """The sample with other arguments of what Dynamo traced."""
    case = bert()
    assert case.code is not None
    graphs = tuple(replace_nodes(graph, given) for graph in case.code.graphs)
    return replace(case, code=struct_replace(case.code, graphs=graphs))


def replace_nodes(graph, given):
    nodes = tuple(
        struct_replace(node, arguments=(*node.arguments[:3], *given))
        if node.target.endswith(ATTENTION)
        else node
        for node in graph.dynamo_nodes
    )
    return struct_replace(graph, dynamo_nodes=nodes)


@pytest.mark.parametrize("given", [(), ("None", "True"), ("False",)])
def test_without_a_mask_the_advice_is_of_types(given: tuple[str, ...]) -> None:
    evidence, advice = slower_attention(edited(given))
    assert evidence.endswith("Attention is handed no mask here.")
    assert advice == "Compute it in 16 bits, which flash attention takes."


def test_a_mask_that_the_baseline_is_handed_too() -> None:
    case = bert()
    dims = pl.col("input_dims").cast(pl.String)
    name = pl.col("name").cast(pl.String)
    shape = "[8,12,128,128]"
    with_mask = dims.str.replace(r"^((?:\[[^\[]*){4},)\[\]", f"${{1}}{shape}")
    ops = case.baseline.ops.with_columns(
        input_dims=pl.when(name.str.contains("attention")).then(with_mask).otherwise(dims)
    )
    evidence, advice = slower_attention(replace(case, baseline=replace(case.baseline, ops=ops)))
    assert "Attention is handed a mask here. The graph makes it itself" in evidence
    assert advice.startswith("Of masks hand over none where nothing is masked")
    assert "is_causal" not in advice


def test_without_a_log_it_stays_open() -> None:
    evidence, advice = slower_attention(replace(bert(), code=None))
    assert "mask" not in evidence
    assert advice.startswith("Where it is handed a mask: ") and "Without one: 16 bits" in advice
    assert "one that you pass" in advice and "while it is traced" in advice
    assert "is_causal" not in advice


def test_the_mask_stands_where_torch_has_it() -> None:
    for name, place in MASK_POSITIONS.items():
        schema = getattr(torch.ops.aten, name.removeprefix("aten::")).default._schema
        assert schema.arguments[place].name in ("attn_mask", "attn_bias", "bias"), name
        assert HandedMore(name, place, "", "").is_mask
        assert not HandedMore(name, place - 1, "", "").is_mask


def test_of_another_rank_than_the_ledger_s_nothing_is_said() -> None:
    case = bert()
    number = next(n for n, g in enumerate(case.ledger.groups) if g.title == ATTENTION)
    other = replace(case.baseline, device=case.baseline.device.head(3))
    told = masks_of(case.ledger, number, other, case.trace, case.code)
    assert (told.before, told.after) == (None, True)
