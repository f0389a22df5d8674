"""A sum that a layer norm's backward was decomposed into is not the sum of a bias's gradient.

The judge is Inductor: it names a kernel after the operators of before decomposition. Of the job
among the samples, five layers of six had the kernel of norm1's gradient for the sum over qkv's
bias, of which the line is the same (`self.qkv(self.norm1(x))`).
"""

from pathlib import Path

import pytest

from profiler_core.analysis.ledger.operators import operator, operators_of_kernel
from profiler_core.session.comparison import Comparison

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
_FEWEST = {"ddp": 60, "bert": 30, "simplecnn-training": 10, "resnet50": 40}


@pytest.mark.parametrize("sample", _FEWEST)
def test_a_sure_match_has_a_kernel_that_is_named_after_it(sample):
    pair = Comparison.open([SAMPLES / sample / "eager", SAMPLES / sample / "default"]).pairs[0]
    judged = 0
    for group in pair.ledger.groups:
        kernels = [kernel.name for kernel in group.candidate.kernels]
        are_generated = all(name.startswith("triton_") for name in kernels)
        if (
            not kernels
            or not are_generated
            or (group.kind, group.confidence) != ("matched", "high")
        ):
            continue
        named = frozenset().union(*map(operators_of_kernel, kernels))
        assert named & {operator(each.op) for each in group.baseline.operators}, group.title
        judged += 1
    assert judged >= _FEWEST[sample]


def test_the_bias_of_qkv_is_summed_by_one_kernel_in_every_layer():
    pair = Comparison.open([SAMPLES / "ddp" / "eager", SAMPLES / "ddp" / "default"]).pairs[0]
    kernels = [
        kernel.name
        for group in pair.ledger.groups
        if any(part.startswith("qkv") for part in (group.module or "", *_modules(group)))
        and any(each.op == "aten::sum" for each in group.baseline.operators)
        for kernel in group.candidate.kernels
    ]
    assert sum(name.startswith("triton_red_fused_cat_sum_transpose") for name in kernels) == 6


def _modules(group):
    return [name for work in group.baseline.modules for name, _ in work.operators]
