"""Which forward operator a gradient is of: the one that drew its node's sequence number."""

import numpy as np

from profiler_core.analysis.ledger.group_modules import group_modules
from profiler_core.analysis.ledger.groups import Members
from profiler_core.analysis.ledger.host_rows import Form
from profiler_core.analysis.ledger.program import Program
from profiler_core.analysis.ledger.work_units import HostStep, Unit, forward_units


def unit(name: str, start: int, *numbers: int, backward: str | None = None) -> Unit:
    made = Unit(name, start, start + 1, (1, 1), None, backward, False, events=[start])
    made.sequence_numbers = list(numbers)
    return made


def step(*units: Unit) -> HostStep:
    nothing = np.empty(0, dtype=np.int64)
    return HostStep(0, list(units), [], (1, 1), Form(nothing, nothing.reshape(1, 0)))


def test_an_operator_without_a_gradient_shows_the_number_of_the_next_one():
    """`arange` peeks at the counter that `embedding` then draws from."""
    forward = step(unit("aten::arange", 0, 7), unit("aten::embedding", 1, 7))
    assert forward_units(forward) == {7: 1}


def test_a_gradient_is_in_the_module_of_its_own_forward_operator():
    """The convolution's gradient says `conv1`, not what ran before it without a gradient."""
    baseline = step(
        unit("aten::normalize", 0, 7),
        unit("aten::conv2d", 1, 7),
        unit("aten::convolution_backward", 2, 7, backward="ConvolutionBackward0"),
    )
    programs = [
        Program([], [], frozenset(), {}, modules={0: ["fc"], 1: ["conv1"]}),
        Program([], [], frozenset(), {}),
    ]
    groups = [Members((number,), (), frozenset()) for number in range(3)]
    modules = group_modules(groups, programs, (baseline, step()), ({}, {}))
    assert [module for module, _ in modules] == ["fc", "conv1", "conv1"]
