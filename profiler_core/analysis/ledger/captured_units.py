"""What a graph launch replays, as the operator calls of its capture: one unit each.

The capture is read as if it had launched (`graph_replays.launched`), so its units are made by the
same code as those of any step.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from profiler_core.analysis.graph_replays.launched import LaunchedCapture, launched_captures
from profiler_core.analysis.ledger.host_rows import Row
from profiler_core.analysis.ledger.modules import unit_modules
from profiler_core.analysis.ledger.work_units import HostStep, HostWork, Unit
from profiler_core.model.trace import Trace

# Row of the replaying trace's work -> (number, captured unit, the range in it that launched, its
# module); a number is one call.
_Captured = dict[int, tuple[int, Unit, Row | None, str | None]]


def with_captured_units(
    trace: Trace, steps: Sequence[HostStep], read: Callable[[Trace], HostWork]
) -> None:
    """Put the captured calls in the place of each graph launch whose capture is at hand.

    Args:
        trace: of the steps.
        steps: changed in place; what has no captured call stays with its launch.
        read: lays a trace out (`host_work`).
    """
    captures = launched_captures(trace)
    if not captures:
        return
    captured: _Captured = {}
    for capture in captures:
        captured |= _captured(capture, read(capture.trace), first=len(captured))
    for step in steps:
        units: list[Unit] = []
        for unit in step.units:
            units += _calls(unit, captured) if unit.is_replay else [unit]
        step.units[:] = units


def _captured(capture: LaunchedCapture, host: HostWork, first: int) -> _Captured:
    unit_of: _Captured = {}
    number = first
    for step, modules in zip(host.steps, unit_modules(capture.trace, host.steps), strict=True):
        for position, unit in enumerate(step.units):
            number += 1
            for event, launcher in zip(unit.events, unit.launched_in, strict=True):
                unit_of[event] = (number, unit, launcher, modules.get(position))
    pairs = capture.events.select("event", "launched").iter_rows()
    return {event: unit_of[launched] for event, launched in pairs if launched in unit_of}


def _calls(replay: Unit, captured: _Captured) -> list[Unit]:
    """The units of one graph launch, in the order in which the first kernel of each ran."""
    calls: dict[int, Unit] = {}
    rest: list[int] = []
    for event in replay.events:
        if event not in captured:
            rest.append(event)
            continue
        number, unit, launcher, module = captured[event]
        if number not in calls:
            calls[number] = replace(
                unit,
                ts_ns=replay.ts_ns,
                end_ns=replay.ts_ns,
                thread=replay.thread,
                run=replay.run,
                inner=set(unit.inner),
                sequence_numbers=[],
                events=[],
                launched_in=[],
                is_recorded=True,
                module=module,
            )
        calls[number].events.append(event)
        calls[number].launched_in.append(launcher)
    left = [replace(replay, events=rest)] if rest else []
    return [*calls.values(), *left]
