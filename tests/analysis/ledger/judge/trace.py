"""A Kineto trace, read for the judge: device events, the outermost operator that launched each.

kernel -> correlation -> runtime call -> outermost cpu_op on that thread below the wrappers of
torch.compile and autograd -> its Sequence number. Times are in nanoseconds.
"""

import gzip
import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_RUNTIME = ("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver")
_REGION = re.compile(r"Torch-Compiled Region: (\S+)")
_GENERATED = re.compile(r"^(?:graph_\d+_)?(triton_\w+|cpp_\w+)$")
_EVALUATE = "autograd::engine::evaluate_function: "


@dataclass
class DeviceEvent:
    """A kernel, copy or memset; on a CPU an outermost operator."""

    name: str
    ts_ns: int
    dur_ns: int


@dataclass
class Run:
    """One `## Call CompiledFxGraph` of a step."""

    ts_ns: int
    region: str
    is_backward: bool
    units: list["Unit"] = field(default_factory=list)


@dataclass
class Unit:
    """An outermost operator, or a launch outside of any."""

    name: str
    ts_ns: int
    end_ns: int
    dims: tuple[tuple[int, ...], ...]
    run: Run | None
    is_backward: bool
    in_optimizer: bool
    numbers: list[int]
    is_replay: bool = False
    of_compiled_backward: bool = False  # in the engine's own part of one, outside of its graph
    events: list[DeviceEvent] = field(default_factory=list)

    @property
    def generated(self) -> str:
        """`triton_poi_fused_add_0` where it is a kernel that Inductor wrote, else ""."""
        match = _GENERATED.match(self.name)
        return match[1] if match else ""


@dataclass
class Step:
    """The units and compiled runs of one profiled step, in order of time."""

    units: list[Unit]
    runs: list[Run]

    @property
    def signature(self) -> tuple[str, ...]:
        """The names of what was launched: steps of one signature are one program."""
        return tuple(unit.name for unit in self.units if unit.events)


def _generated(name: str) -> bool:
    return _GENERATED.match(name) is not None


def _is_wrapper(event: dict[str, Any]) -> bool:
    name = event["name"]
    if event.get("cat") != "cpu_op":
        return True
    if name.startswith(("autograd::", "torch::autograd::")) or "Backward" in name:
        return "::" not in name or name.startswith(("autograd::", "torch::autograd::"))
    return "::" not in name and not _generated(name)


def _dims(event: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    value = event.get("args", {}).get("Input Dims") or []
    return tuple(
        tuple(d) for d in value if isinstance(d, list) and d and all(isinstance(n, int) for n in d)
    )


def read_steps(path: Path) -> list[Step]:
    """The profiled steps; a trace without ProfilerStep ranges is one step."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        document = json.load(file)
    base, events = int(document.get("baseTimeNanoseconds", 0)), document["traceEvents"]
    whole = [e for e in events if e.get("ph") == "X" and "ts" in e]
    device = [e for e in whole if e.get("cat") in _DEVICE]
    marks = sorted(
        {e["name"]: e for e in whole
         if e["name"].startswith("ProfilerStep#") and e.get("cat") == "user_annotation"}.values(),
        key=lambda e: e["ts"],
    )  # fmt: skip
    bounds = [(e["ts"], e["ts"] + e["dur"]) for e in marks] or [(float("-inf"), float("inf"))]
    launches: dict[int, dict[str, Any]] = {}
    for event in sorted((e for e in whole if e.get("cat") in _RUNTIME), key=lambda e: e["ts"]):
        correlation = event.get("args", {}).get("correlation")
        if correlation is not None:
            launches.setdefault(correlation, event)
    rows: dict[tuple[Any, Any], list[dict[str, Any]]] = defaultdict(list)
    for event in whole:
        if event.get("cat") in ("cpu_op", "user_annotation"):
            rows[event["pid"], event["tid"]].append(event)
    started: dict[int, list[DeviceEvent]] = defaultdict(list)
    for event in sorted(device, key=lambda e: e["ts"]):
        launch = launches.get(event.get("args", {}).get("correlation"))
        if launch is None:
            continue
        if id(launch) not in started:
            rows[launch["pid"], launch["tid"]].append(launch)
        started[id(launch)].append(
            DeviceEvent(event["name"], base + round(event["ts"] * 1000), round(event["dur"] * 1000))
        )
    units: list[Unit] = []
    runs: list[Run] = []
    for every in rows.values():
        _sweep(every, started, units, runs, cpu_base=None if device else base)
    units.sort(key=lambda unit: unit.ts_ns)
    runs.sort(key=lambda run: run.ts_ns)
    return [
        Step(
            [u for u in units if begin * 1000 <= u.ts_ns < end * 1000],
            [r for r in runs if begin * 1000 <= r.ts_ns < end * 1000],
        )
        for begin, end in bounds
    ]


def _sweep(
    events: list[dict[str, Any]],
    started: dict[int, list[DeviceEvent]],
    units: list[Unit],
    runs: list[Run],
    cpu_base: int | None,
) -> None:
    wrappers: list[tuple[dict[str, Any], Run | None]] = []
    unit: Unit | None = None
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"], e.get("cat") in _RUNTIME)):
        begin, end = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)
        while wrappers and event["ts"] >= wrappers[-1][0]["ts"] + wrappers[-1][0]["dur"]:
            wrappers.pop()
        if unit is not None and begin >= unit.end_ns:
            unit = None
        if event.get("cat") in _RUNTIME:
            if unit is not None:
                unit.events.extend(started[id(event)])
                continue
            lone = _unit(event, begin, end, wrappers)
            lone.is_replay = "GraphLaunch" in event["name"]
            lone.events.extend(started[id(event)])
            lone.name = event["name"] if lone.is_replay else lone.events[0].name
            units.append(lone)
            continue
        if unit is not None:
            number = event.get("args", {}).get("Sequence number")
            if number is not None:
                unit.numbers.append(number)
            continue
        if _is_wrapper(event):
            run = None
            if event["name"].startswith("## Call CompiledFxGraph"):
                names = [w["name"] for w, _ in wrappers]
                regions = [m[1] for n in names if (m := _REGION.match(n))]
                backward = any("CompiledFunctionBackward" in n for n in names)
                run = Run(begin, regions[-1] if regions else "", backward)
                runs.append(run)
            wrappers.append((event, run))
            continue
        unit = _unit(event, begin, end, wrappers)
        if cpu_base is not None:
            unit.events.append(DeviceEvent(event["name"], cpu_base + begin, end - begin))
        units.append(unit)


def _unit(
    event: dict[str, Any], begin: int, end: int, wrappers: list[tuple[dict[str, Any], Run | None]]
) -> Unit:
    run = next((opened for _, opened in reversed(wrappers) if opened is not None), None)
    evaluated = [w for w, _ in wrappers if w["name"].startswith(_EVALUATE)]
    numbers = [w["args"]["Sequence number"] for w in evaluated
               if "Sequence number" in w.get("args", {})]  # fmt: skip
    number = event.get("args", {}).get("Sequence number")
    if number is not None and not evaluated:
        numbers.append(number)
    unit = Unit(
        event["name"], begin, end, _dims(event), run, bool(evaluated),
        any(w["name"].startswith("Optimizer.") for w, _ in wrappers), numbers,
    )  # fmt: skip
    unit.of_compiled_backward = any("CompiledFunctionBackward" in w["name"] for w, _ in wrappers)
    if run is not None:
        run.units.append(unit)
    return unit
