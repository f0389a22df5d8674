"""What several changes bring one after the other, on one clock: never the sum of their parts."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.what_if.engine import WhatIf

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class InTurn(Generic[Key]):
    """One change after those before it, ns per step: what it adds, and what all save so far.

    on_device_ns: what the device does less by it; what it adds beyond that is idle time.
    """

    key: Key
    added_ns: float
    saved_ns: float
    on_device_ns: float


def in_turn(changes: Mapping[Key, Change], engine: WhatIf) -> tuple[InTurn[Key], ...]:
    """The change that saves most first, then each time the one that adds most; all of them.

    Args:
        changes: by whatever names them.
        engine: of the run; () where its trace has no steps.
    """
    left, done = dict(changes), list[Change]()
    turns: list[InTurn[Key]] = []
    saved_ns = device_ns = 0.0
    while left:
        by_key = {key: engine.expected_ns(*done, change) for key, change in left.items()}
        totals = {key: ns for key, ns in by_key.items() if ns is not None}
        if not totals:
            break
        best = max(totals, key=totals.__getitem__)
        done.append(left.pop(best))
        gone_ns = engine.on_device_ns(*done)
        turns.append(InTurn(best, totals[best] - saved_ns, totals[best], gone_ns - device_ns))
        saved_ns, device_ns = totals[best], gone_ns
    return tuple(turns)
