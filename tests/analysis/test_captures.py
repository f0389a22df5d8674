"""Real captures against an independent computation (tests/reference.py), to the nanosecond."""

import json
from functools import cache
from pathlib import Path

import pytest

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.compare import compare
from profiler_core.analysis.side import make_side
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.work import is_wrapper
from profiler_core.ingest.run import open_run
from tests.analysis.traces import trace_of
from tests.larger import LARGER
from tests.reference import ns, read_events, totals, union

FIXTURES = Path(__file__).parents[1] / "fixtures" / "captures"

TOTALS = (
    "n_kernels",
    "n_memcpy",
    "n_memset",
    "kernel_time_ns",
    "device_time_ns",
    "busy_ns",
    "idle_ns",
    "window_ns",
    "n_launches",
    "n_graph_launches",
)

SMALL = [
    pytest.param(path.parent, id=path.parent.name) for path in sorted(FIXTURES.glob("*/run.json"))
]


def _captures():
    larger = sorted((LARGER / "captures").iterdir())
    return SMALL + [pytest.param(path, id=f"larger-{path.name}") for path in larger]


@cache  # four tests ask each capture
def summary_of(folder):
    run = open_run(folder)
    return summarise(trace_of(run.trace), run.record.measurement)


@pytest.mark.parametrize("folder", _captures())
def test_every_total_equals_the_independent_one(folder):
    run = open_run(folder)
    events = read_events(run.trace)
    summary = summarise(trace_of(run.trace))
    if summary.device_kind == "cpu":
        expected = _cpu_totals(events)
    else:
        expected = totals(events)
        assert summary.window.n_left_over == expected["n_left_over"]
    assert len(summary.steps) == expected["n_steps"]
    found = {key: getattr(summary, key) for key in TOTALS if key in expected}
    assert found == {key: expected[key] for key in found}


@pytest.mark.parametrize("folder", _captures())
def test_the_parts_sum_to_the_whole(folder):
    s = summary_of(folder)
    assert sum(step.dur_ns for step in s.steps) == s.window_ns
    assert s.busy_ns + s.idle_ns == s.window_ns
    assert s.compute_ns + s.exposed_communication_ns + s.exposed_copy_ns == s.busy_ns
    assert sum(t.time_ns for t in s.by_category.values()) == s.device_time_ns
    assert sum(k.time_ns for k in s.kernels) == s.kernel_time_ns
    if s.device_kind == "gpu":
        assert sum(s.idle_by_cause_ns.values()) == s.idle_ns
        assert min(s.idle_by_cause_ns.values()) >= 0


@pytest.mark.parametrize("folder", _captures())
def test_less_than_two_per_cent_of_kernel_time_is_other(folder):
    s = summary_of(folder)
    other = s.by_category.get("other")
    assert other is None or other.time_ns < 0.02 * s.kernel_time_ns
    assert list(s.by_category) == [key for key in CATEGORIES if key in s.by_category]


@pytest.mark.parametrize("folder", SMALL)
def test_golden_numbers(folder):
    golden = Path(__file__).parents[1] / "golden" / f"{folder.name}.json"
    actual = golden.parent / "actual" / golden.name
    text = golden_text(folder)
    if not golden.is_file() or text != golden.read_text(encoding="utf-8"):
        actual.parent.mkdir(exist_ok=True)
        actual.write_text(text, encoding="utf-8")
        pytest.fail(f"numbers moved: diff {golden} {actual}; if that is right: make golden")


def golden_text(folder):
    """What a golden file holds: the numbers we would defend, sorted, without paths."""
    s = summary_of(folder)
    numbers = {
        **{key: getattr(s, key) for key in TOTALS},
        "n_events": s.n_events,
        "n_left_over": s.window.n_left_over,
        "steps_dur_ns": [step.dur_ns for step in s.steps],
        "by_category": {key: [t.n, t.time_ns] for key, t in s.by_category.items()},
        "idle_by_cause_ns": s.idle_by_cause_ns,
        "exposed_copy_ns": s.exposed_copy_ns,
        "tensor_core_time_ns": sum(k.time_ns for k in s.kernels if k.tensor_cores),
        "peak_allocated_bytes": s.memory.peak_allocated_bytes,
        "peak_reserved_bytes": s.memory.peak_reserved_bytes,
    }
    return json.dumps(numbers, indent=1, sort_keys=True) + "\n"


def test_a_compiled_run_has_fewer_kernels_and_one_graph_launch():
    sides = [
        make_side(open_run(FIXTURES / name), summary_of(FIXTURES / name))
        for name in ("customcnn_b1.eager", "customcnn_b1.reduce-overhead")
    ]
    (found,) = compare(sides[0], sides[1:]).candidates
    assert (found.n_kernels, found.n_launches) == ((23, 17), (23, 3))
    assert found.n_graph_launches == (0, 1)
    assert found.step_time.ratio == pytest.approx(2.6, abs=0.05)
    assert (found.step_time.clock, found.verdict) == ("unprofiled", "no_verdict")


def _cpu_totals(events):
    """Outermost operators below the wrappers, by a plain loop over each thread."""
    ranges = [e for e in events if e.get("ph") == "X"]
    steps = [
        (ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]))
        for e in ranges
        if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#")
    ]
    start, last = min(steps)[0], max(end for _, end in steps)
    kernels, until = [], {}
    for e in sorted(ranges, key=lambda e: (ns(e["ts"]), -ns(e["dur"]))):
        if e.get("cat") != "cpu_op" or is_wrapper(e["name"]):
            continue
        begin, end = ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])
        if begin < until.get(e["tid"], 0):
            continue
        until[e["tid"]] = end
        if start <= begin <= last:
            kernels.append((begin, end))
    stop = max(last, *(end for _, end in kernels))
    time = sum(end - begin for begin, end in kernels)
    return {
        "n_steps": len(steps),
        "n_kernels": len(kernels),
        "kernel_time_ns": time,
        "device_time_ns": time,
        "window_ns": stop - start,
        "busy_ns": union(kernels),
        "idle_ns": stop - start - union(kernels),
    }
