"""Tensors that an operator is handed for their size or type, or to write: no kernel reads them.

The gradient of a pooling is made of the result's gradient, and of where each maximum was; what was
pooled only says how large it is. Positions of arguments are those of
aten/src/ATen/native/native_functions.yaml (torch 2.15), what is read that of torch's kernels.
"""

from collections.abc import Mapping, Sequence

from profiler_core.analysis.ledger.operator_call import OperatorCall
from profiler_core.analysis.ledger.operator_kinds import (
    GRADIENTS_OF_NORMS,
    GRADIENTS_OF_PADDING,
    GRADIENTS_OF_POOLING,
)
from profiler_core.analysis.ledger.operators import bare_name
from profiler_core.analysis.operator_arguments import truths

_UNREAD: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(GRADIENTS_OF_POOLING | GRADIENTS_OF_PADDING, (1,)),
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward", "type_as"), (1,)),
    "native_layer_norm_backward": (6,),  # the bias
    # Its result, `out=`: torch's own code calls it so inside of `embedding`, and to put a gradient
    # into its bucket.
    "gather": (4,),
    "mul": (2,),
    # In training the running statistics; else they are as large as those of a batch, which is not.
    **dict.fromkeys(
        ("batch_norm_backward", "cudnn_batch_norm_backward", "miopen_batch_norm_backward",
         "native_batch_norm_backward"),
        (3, 4),
    ),
}  # fmt: skip
_BETA = {"addmm": 3, "addbmm": 3, "addmv": 3, "addr": 3, "baddbmm": 3}

# Operators of which arguments that are no tensors say whether they read the first one.
SCALARS_SAY = frozenset(("bernoulli", *_BETA))


def unread(call: OperatorCall) -> frozenset[int]:
    """Positions of the tensors that a call does not read."""
    positions = _UNREAD.get(call.bare, ())
    if call.bare == "bernoulli":  # with a probability, which may be a tensor behind it
        is_given = call.is_in_place or call.given(1)
        return frozenset((0,)) if is_given else frozenset()
    if call.given(_BETA.get(call.bare, -1)) in ("0", "0.", "0.0"):
        return frozenset((0,))
    weight, mask = GRADIENTS_OF_NORMS.get(call.bare, (-1, -1))
    if call.given(mask) and not truths(call.given(mask))[0]:
        return frozenset((*positions, weight))  # only the input's gradient takes the weight
    return frozenset(positions)


def unread_names(name: str, given: Sequence[str]) -> frozenset[str]:
    """Those of the tensors that generated code hands a library's operator which it does not read.

    Args:
        name: of the operator, as generated code writes it.
        given: names of its tensors, in order, those of the first arguments before any number.
    """
    positions = _UNREAD.get(bare_name(name), ())
    read = {tensor for place, tensor in enumerate(given) if place not in positions}
    return frozenset(given) - read
