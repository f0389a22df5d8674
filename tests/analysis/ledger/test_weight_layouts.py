"""A generated kernel that only lays out a convolution's weight works for that convolution.

Inductor names it after all that it is fused with: `…_batch_norm_…_convolution_relu_3` did nothing
but copy 32×32×3×3 to channels_last, and was matched with the relu before it.
"""

import gzip
import json
from dataclasses import replace

import pytest

from profiler_core.analysis.ledger.filling import copy_for_what_follows
from profiler_core.analysis.ledger.gap import Gap
from profiler_core.analysis.ledger.match import Match
from profiler_core.analysis.ledger.operators import operators_of_kernel
from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.ledger.weight_layouts import mark_weight_layouts
from profiler_core.analysis.ledger.work_units import Unit
from profiler_core.analysis.ledger.worth import worth
from tests.analysis.ledger.pairs import CAPTURES, ledger

DYNSHAPE = ("dynshape.default", "dynshape.default+static")


def _copies_of_weights(name: str) -> set[str]:
    """Generated kernels with two tensors alone, both of a convolution's weight; by the raw file."""
    file = gzip.decompress((CAPTURES / name / "trace.json.gz").read_bytes())
    ops = [event for event in json.loads(file)["traceEvents"] if event.get("cat") == "cpu_op"]
    weights = [
        event["args"]["Input Dims"][1] for event in ops if event["name"] == "aten::convolution"
    ]
    return {
        event["name"]
        for event in ops
        if event["name"].startswith("triton_")
        and [dims for dims in event["args"]["Input Dims"] if dims] in [[w, w] for w in weights]
    }


@pytest.mark.parametrize("pair", [DYNSHAPE, DYNSHAPE[::-1]], ids=["candidate", "baseline"])
def test_a_copy_of_a_weight_is_with_its_convolution_without_a_log(pair):
    """The judge of the matching is the ledger with logs: of each kernel the same counterparts."""
    copies = _copies_of_weights(DYNSHAPE[1])
    assert copies == {
        "triton_poi_fused_convolution_1",
        "triton_poi_fused__native_batch_norm_legit_no_training_convolution_relu_3",
    }
    sides: list[dict[tuple[str, ...], list[int]]] = []
    for logs in (False, True):
        result = ledger(CAPTURES / pair[0], CAPTURES / pair[1], logs)
        times: dict[tuple[str, ...], list[int]] = {}
        for group in result.groups:
            for own, other in (
                (group.baseline, group.candidate),
                (group.candidate, group.baseline),
            ):
                for kernel in own.kernels if own else ():
                    if kernel.name in copies:
                        assert [op.op for op in other.operators] == ["aten::convolution"]
            key = tuple(
                sorted({o.op for s in (group.baseline, group.candidate) for o in s.operators})
            )
            total = times.setdefault(key, [0, 0])
            total[0] += group.baseline.time_ns
            total[1] += group.candidate.time_ns
        sides.append(times)
    assert sides[0] == sides[1]


WEIGHT, INPUT = (32, 32, 3, 3), (4, 32, 88, 88)
ROWS, CHANNELS_LAST = (288, 9, 3, 1), (288, 1, 96, 32)
NAME = "triton_poi_fused_batch_norm_convolution_relu_3"


def _unit(shape=WEIGHT, types=("float", "float"), strides=(ROWS, CHANNELS_LAST), more=()) -> Unit:
    return Unit(
        NAME, 0, 1, (1, 1), None, None, False,
        shapes=(shape, shape, *(shape for _ in more), None),
        dtypes=(*types, *more, "Scalar"),
        strides=(*strides, *(ROWS for _ in more), None),
    )  # fmt: skip


def _kernel() -> Item:
    return Item(NAME, operators_of_kernel(NAME), (0,), unit=0, by_kernel_name=True)


def _convolution(values=INPUT, weight=WEIGHT) -> Item:
    return Item("convolution", frozenset(), (1,), unit=1, shapes=(values, weight))


@pytest.mark.parametrize(
    ("items", "unit", "is_layout"),
    [
        ((_kernel(), _convolution()), _unit(), True),
        ((_convolution(), _kernel()), _unit(), False),  # a gradient or an update, behind it
        ((_kernel(), _convolution(weight=(8, 32, 3, 3))), _unit(), False),
        ((_kernel(), _convolution(values=WEIGHT)), _unit(), False),  # it may be the input
        ((_kernel(), _convolution()), _unit(strides=(ROWS, ROWS)), False),  # tanh of a weight
        ((_kernel(), _convolution()), _unit(more=("float",)), False),  # adds two
        ((_kernel(), _convolution()), _unit(types=("float", "c10::BFloat16")), False),
        ((_kernel(), _convolution()), _unit(strides=()), False),  # not recorded
    ],
)
def test_what_a_kernel_is_handed_says_whether_it_lays_out_a_weight(items, unit, is_layout):
    """Each other case may compute something."""
    items = [replace(item) for item in items]
    mark_weight_layouts(items, [unit, unit])
    (kernel,) = [item for item in items if item.by_kernel_name]
    assert kernel.lays_out_weight is is_layout


def test_a_layout_of_a_weight_is_worth_nothing_to_what_its_name_says():
    """But to copies, and to another run's layout of a weight."""
    laid_out, computes = replace(_kernel(), lays_out_weight=True), replace(_kernel(), op=NAME[:-1])
    relu, clone = (Item(op, frozenset(), (1,)) for op in ("relu", "clone"))
    assert worth(relu, computes, "forward") > 0
    assert worth(relu, laid_out, "forward") == 0
    assert worth(computes, laid_out, "forward") == worth(laid_out, computes, "forward") == 0
    assert worth(replace(laid_out, op=NAME[:-1]), laid_out, "forward") > 0
    copying = replace(laid_out, inner=frozenset(("clone", "relu")))
    assert worth(clone, copying, "forward") > 0


def test_a_layout_before_a_convolution_on_either_side_is_tied_to_it():
    """A baseline that was compiled has such kernels, too."""
    laid_out = replace(_kernel(), lays_out_weight=True, shapes=(WEIGHT, WEIGHT), units=(7,))
    around = [(_convolution(), _convolution())]
    for items in (([laid_out], []), ([], [laid_out])):
        match = Match()
        copy_for_what_follows(Gap(*items, around, "forward", match, ({}, {})))
        ((baseline, candidate),) = [(tie.baseline, tie.candidate) for tie in match.ties]
        assert (baseline, candidate) == (((7,), (1,)) if items[0] else ((1,), (7,)))
