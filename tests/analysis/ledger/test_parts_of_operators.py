"""A sum that a layer norm's backward was decomposed into is not the sum of a bias's gradient.

The judge is Inductor: it names a kernel after the operators of before decomposition. Of the job
among the samples, five layers of six had the kernel of norm1's gradient for the sum over qkv's
bias, of which the line is the same (`self.qkv(self.norm1(x))`).
"""

import gzip
import re
from pathlib import Path

import pytest

from profiler_core.analysis.ledger.operators import operator, operators_of_kernel
from profiler_core.session.comparison import Comparison

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
# Above a call of the generated code, which is indented; above a kernel's source it is not.
_COMMENT = re.compile(r"^\t +# Topologically Sorted.*Original ATen: \[([^\]]*)\]$", re.MULTILINE)
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


def test_the_sum_for_qkvs_bias_and_the_norm_of_its_line_are_groups_of_their_own():
    """The layer norm's kernels were told as qkv's: its sums were tied to the sum for the bias."""
    pair = Comparison.open([SAMPLES / "ddp" / "eager", SAMPLES / "ddp" / "default"]).pairs[0]
    groups = [group for group in pair.ledger.groups if group.phase == "backward"]
    assert "sum + native_layer_norm_backward" not in {group.title for group in groups}
    of_norm = [g for g in groups if g.title == "native_layer_norm_backward" and g.module == "norm1"]
    assert len(of_norm) == 6
    for group in of_norm:
        assert {name for work in group.candidate.modules for name, _ in work.operators} == {"norm1"}
        assert all("layer_norm" in kernel.name for kernel in group.candidate.kernels)


@pytest.mark.parametrize("variant", ["default", "reduce-overhead"])
def test_kernels_of_a_batch_norms_gradient_alone_are_the_norms(variant):
    """The first of two calls of one kernel was the model's: that of the relu and the pool."""
    sample = SAMPLES / "simplecnn-training"
    (path,) = (sample / variant / "torch_trace").iterdir()
    comments = _COMMENT.findall(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))
    n_of_norm_alone = comments.count("aten.native_batch_norm_backward")
    assert n_of_norm_alone == 2
    pair = Comparison.open([sample / "eager", sample / variant]).pairs[0]
    (group,) = (g for g in pair.ledger.groups if "max_pool2d_with_indices_backward" in g.title)
    of_norm = [w for w in group.candidate.modules if {m for m, _ in w.operators} == {"norm1"}]
    n_steps = pair.ledger.n_candidate_steps
    assert sum(work.n_kernels for work in of_norm) == n_of_norm_alone * n_steps
    assert all("norm1" in dict(work.operators) for work in group.candidate.modules)


def _modules(group):
    return [name for work in group.baseline.modules for name, _ in work.operators]
