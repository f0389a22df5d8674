"""Which kernels of a row of library kernels each library call started: the main one, and helpers.

A call may clear a workspace before its product and add up what was split afterwards (split-K), or
change layouts around it.
"""

import re
from collections.abc import Iterator, Sequence

# What adds up the parts of a product. The product's own kernel may be called `splitK` too:
# nvjet_sm90_tst_64x64_64x13_1x2_h_bz_splitK_NTT.
ADDS_PARTS = r"splitK_?reduc|reduce_?splitK|_split_k_kernel|reduce_1Block"
_HELPER = re.compile(
    ADDS_PARTS + r"|nchwToNhwc|nhwcToNchw|Memset|Memcpy|transpose|fill|cudnn.*(?:pad|convert)"
    r"|winograd.*(?:Output|generate)|cublasLt::|computeOffsets|scalePackedTensor|zeroPad|convertTensor",
    re.IGNORECASE,
)
_FINISHES = re.compile(ADDS_PARTS + r"|winograd.*Output", re.IGNORECASE)
# Costs of dealing kernels to calls: only their order counts.
_HELPER_BESIDE, _KERNEL_BESIDE = 2, 60  # a kernel beyond a call's main one
_PARTED = 1  # what finishes a product, from that product
_HELPER_LEFT, _KERNEL_LEFT = 40, 200  # a kernel without a call
_CALL_LEFT = 400  # a call without a kernel
_MOST_KERNELS = 12  # of one library call in a replay


def is_helper(name: str) -> bool:
    """Does a kernel of this name only prepare or finish what another computes?"""
    return _HELPER.search(name) is not None


def finishes(name: str) -> bool:
    """Does it finish what the kernel before it began: a split-K reduction?"""
    return _FINISHES.search(name) is not None


def dealt(names: Sequence[str], n_calls: int) -> Iterator[tuple[int, int]]:
    """For each call in turn: how many kernels to leave out before it, and how many to take.

    Least cost: each kernel beyond a call's main one costs little for a helper, more for another; a
    call that is left without a kernel, or a kernel without a call, costs most. Of equal costs the
    first call takes the fewest: a memset goes with the kernel that follows it.

    Args:
        names: of the kernels in their order.
        n_calls: library calls that they are dealt to.
    """
    n, m = len(names), n_calls
    helpers = [is_helper(name) for name in names]
    extra = [_HELPER_BESIDE if helper else _KERNEL_BESIDE for helper in helpers]
    left_out = [_HELPER_LEFT if helper else _KERNEL_LEFT for helper in helpers]
    if_first = [_PARTED * finishes(name) for name in names]
    best = [[0] * (n + 1) for _ in range(m + 1)]
    take = [[0] * (n + 1) for _ in range(m + 1)]
    for i in range(n - 1, -1, -1):
        best[m][i] = best[m][i + 1] + left_out[i]
    for j in range(m - 1, -1, -1):
        for i in range(n, -1, -1):
            options = [(best[j + 1][i] + _CALL_LEFT, 0)]
            if i < n:
                options.append((best[j][i + 1] + left_out[i], -1))
            cost = main = 0
            for k in range(1, min(_MOST_KERNELS, n - i) + 1):
                cost += extra[i + k - 1]
                main = max(main, extra[i + k - 1])
                options.append((best[j + 1][i + k] + cost - main + if_first[i], k))
            best[j][i], take[j][i] = min(options)
    i = 0
    for j in range(m):
        skipped = 0
        while take[j][i] == -1:
            skipped, i = skipped + 1, i + 1
        yield skipped, take[j][i]
        i += take[j][i]
