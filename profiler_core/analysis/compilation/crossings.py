"""Each step's ways from one compiled call to the next in one compiled region: where breaks lie."""

from dataclasses import dataclass

from profiler_core.analysis.compilation.compiled_calls import CompiledCall


@dataclass(frozen=True)
class Crossing:
    """The host's way from one compiled call to the next: what it does there goes with a break."""

    start_ns: int
    end_ns: int
    entry_end_ns: int
    call: CompiledCall  # the one that is entered
    ids: tuple[str, ...]  # frames that may have broken here


def crossings(calls: list[CompiledCall]) -> list[Crossing]:
    """From one compiled call to the next within one outermost region, step and thread."""
    ways = []
    last: dict[tuple[int, int], CompiledCall] = {}
    for call in calls:
        before = last.get(call.thread)
        last[call.thread] = call
        if before is None or call.step is None or before.step != call.step:
            continue
        if before.outermost is None or before.outermost != call.outermost:
            continue
        if call.start_ns < before.end_ns:
            continue
        # The frame that broke is the one that ran before, and any that only called others.
        ids = tuple(dict.fromkeys((*_ids(before.compile_id), *call.entered[:-1])))
        ways.append(
            Crossing(before.end_ns, call.start_ns, call.start_ns + call.entry_ns, call, ids)
        )
    return ways


def _ids(compile_id: str | None) -> tuple[str, ...]:
    return () if compile_id is None else (compile_id,)
