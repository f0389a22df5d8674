"""A row of library kernels is dealt to calls: each has its product with what prepares it."""

from collections import Counter

import pytest

from profiler_core.analysis.ledger.library_kernels import dealt
from profiler_core.analysis.ledger.sides import read_side
from tests.analysis.ledger.test_samples import side

MM, MEMSET, SPLIT = "sm80_xmma_gemm_f32", "Memset (Unknown)", "void splitKreduce_kernel<32>"
SPLIT_MM = "nvjet_sm90_tst_64x64_64x13_1x2_h_bz_splitK_NTT"  # a product, in parts
SPLIT_CUTLASS = "sm80_xmma_gemm_f32f32_tilesize32x32x8_execute_split_k_kernel__5x_cublas"
TO_NHWC = "void cudnn::ops::nchwToNhwcKernel<float>"


@pytest.mark.parametrize(
    ("kernels", "n_calls", "expected"),
    [
        # BERT's query and key: either clears a workspace first.
        ([MEMSET, MM, MEMSET, MM], 2, [(0, 2), (0, 2)]),
        ([MEMSET, MM, MEMSET, MM, MEMSET, MM], 3, [(0, 2), (0, 2), (0, 2)]),
        ([MM, MEMSET, MM], 2, [(0, 1), (0, 2)]),
        ([MEMSET, MM, MM], 2, [(0, 2), (0, 1)]),
        ([MM, SPLIT, MM], 2, [(0, 2), (0, 1)]),
        ([MEMSET, MM, SPLIT, MEMSET, MM, SPLIT], 2, [(0, 3), (0, 3)]),
        # Each of both products in parts stood as one that ends the call before it.
        ([SPLIT_MM, SPLIT, SPLIT_MM, SPLIT], 2, [(0, 2), (0, 2)]),
        ([MM, MEMSET, SPLIT_MM, MEMSET, MM], 3, [(0, 1), (0, 2), (0, 2)]),
        ([MM, SPLIT_CUTLASS, MM], 2, [(0, 2), (0, 1)]),
        ([TO_NHWC, TO_NHWC, MM, TO_NHWC, MM], 2, [(0, 3), (0, 2)]),
        ([MM, MM, MM], 1, [(0, 3)]),
    ],
)
def test_each_call_has_its_product_with_what_prepares_and_finishes_it(kernels, n_calls, expected):
    assert list(dealt(kernels, n_calls)) == expected


@pytest.mark.parametrize("sample", ["bert", "resnet50", "simplecnn-training"])
def test_a_replay_clears_memory_for_the_call_that_does_so_without_cuda_graphs(sample):
    """There each memset is launched inside its own operator."""
    launched = _memsets(f"{sample}/default")
    assert launched
    assert _memsets(f"{sample}/reduce-overhead") == launched


def _memsets(name: str) -> Counter[tuple[int, int]]:
    """(run, call) -> memsets of a step."""
    read = read_side(side(name, True))
    units = read.steps[0].units
    return Counter(
        (execution.run, call)
        for execution in read.executions[0]
        for call, numbers in execution.units_of_call.items()
        for number in numbers
        for event in units[number].events
        if read.names[event].startswith("Memset")
    )
