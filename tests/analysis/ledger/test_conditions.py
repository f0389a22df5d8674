"""What a compiled graph leaves out because Python alone asked for it, against its log's text."""

import gzip
import re

import pytest

from tests.analysis.ledger.pairs import CAPTURES, ledger


@pytest.mark.parametrize(
    ("baseline", "candidate"),
    [
        ("bert.eager", "bert.default"),
        ("bert.eager", "bert.reduce-overhead"),
        ("bert.eager+amp", "bert.default+amp"),
    ],
)
def test_a_cast_goes_with_the_kernel_whose_graph_converts_it(baseline, candidate):
    """The mask of a BERT is made Boolean; its code has two `.to(device)` too.

    The kernel is read off the text of the log: one above which the conversion is printed.
    """
    text = gzip.decompress((CAPTURES / candidate / "torch_trace.log.gz").read_bytes()).decode()
    printed = re.compile(
        r'%convert_element_type : Tensor "b8\[8, 128\][^\n]*torch\.bool\).*?async_compile\.triton'
        r"\('(\w+)'",
        re.S,
    )
    groups = ledger(CAPTURES / baseline, CAPTURES / candidate).groups
    (cast,) = (
        group
        for group in groups
        if [operator.op for operator in group.baseline.operators] == ["aten::to"]
    )
    (kernel,) = cast.candidate.kernels
    assert kernel.name in printed.findall(text)
    assert (cast.kind, cast.confidence) == ("matched", "high")
    assert "masking_utils.py:825" in cast.sources[0][0]
    # `if padding_mask.all():` is the library's own question in eager mode.
    asked = [
        group
        for group in groups
        if {o.op for o in group.baseline.operators} & {"aten::all", "aten::is_nonzero"}
    ]
    assert [(group.kind, group.candidate.n_events) for group in asked] == [("removed", 0)] * 2
