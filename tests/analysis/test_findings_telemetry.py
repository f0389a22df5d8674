"""Findings about the state of the GPU: a real capture's samples, edited in the one place named.

Nobody can heat up a GPU for a test (docs/measuring.md): so the bits of the clocks event reasons,
the clocks or the power limit of resnet50's samples are changed, and nothing else.
"""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from profiler_core.analysis.compare import compare
from profiler_core.analysis.finding_rules.facts import Tried
from profiler_core.analysis.findings import Facts, findings, run_findings
from profiler_core.analysis.side import make_side
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.telemetry.host import HostUse
from profiler_core.analysis.telemetry.run import run_telemetry
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.ingest.run import open_run
from profiler_core.ingest.telemetry.reader import read_gpu_samples
from profiler_core.model.telemetry import GpuSamples
from tests.analysis.worded import worded

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
KEYS = {"clocks_differ", "throttled", "power_cap", "host_thread_busy"}


@pytest.fixture(scope="module")
def captured():
    found = {}
    for variant in ("eager", "default"):
        run = open_run(SAMPLES / "resnet50" / variant)
        trace = read_kineto(run.trace)
        found[variant] = (run, trace, summarise(trace, run.record.measurement))
    return found


def telemetry(captured, variant, host=None, **changed):
    """The run's telemetry with these fields of every sample changed."""
    run = captured[variant][0]
    samples = [msgspec.structs.replace(s, **changed) for s in read_gpu_samples(run.nvml).samples]
    found = run_telemetry(run.record, GpuSamples(tuple(samples)))
    return replace(found, host=host) if host else found


def comparison(captured, ours, theirs):
    sides = [
        make_side(captured[variant][0], captured[variant][2], telemetry=found)
        for variant, found in (("eager", ours), ("default", theirs))
    ]
    return compare(sides[0], sides[1:]).candidates[0]


def found_in(captured, theirs, ours=None, tried=()):
    run, trace, summary = captured["default"]
    pair = comparison(captured, ours or telemetry(captured, "eager"), theirs)
    facts = Facts(trace, summary, run.record, pair, telemetry=theirs, tried=tried)
    return {f.key: f for f in findings(facts) if f.key in KEYS}


def test_a_capture_as_it_was_has_none_of_them(captured):
    assert found_in(captured, telemetry(captured, "default")) == {}


def test_clocks_apart_are_found_and_said_in_the_verdict(captured):
    slow = telemetry(captured, "default", sm_clock_mhz=1755.0)
    finding = found_in(captured, slow)["clocks_differ"]
    assert "1980 MHz" in finding.evidence
    assert "1755 MHz" in finding.evidence
    pair = comparison(captured, telemetry(captured, "eager"), slow)
    assert pair.fairness.fair is False
    assert worded(pair).details[0].startswith("Not a fair comparison: the SM clock was")
    assert "11.4 % apart" in worded(pair).details[0]


def test_clocks_three_per_cent_apart_are_fair(captured):
    near = telemetry(captured, "default", sm_clock_mhz=1921.0)
    assert found_in(captured, near) == {}


def test_heat_is_found_with_what_it_may_cost(captured):
    hot = telemetry(captured, "default", clocks_event_reasons=0x20, sm_clock_mhz=1485.0)
    finding = found_in(captured, hot)["throttled"]
    assert "too hot" in finding.evidence
    assert "SwThermalSlowdown" in finding.evidence
    assert finding.is_bound
    run, trace, summary = captured["default"]
    step_ns = Facts(trace, summary, run.record).step_ns
    assert finding.at_stake_ns == pytest.approx(0.25 * step_ns)


def test_a_throttled_baseline_makes_the_comparison_unfair_too(captured):
    hot = telemetry(captured, "eager", clocks_event_reasons=0x40)
    pair = comparison(captured, hot, telemetry(captured, "default"))
    assert pair.fairness.fair is False
    assert pair.fairness.throttled == (True, False)


def test_the_power_cap_is_found_by_its_bit_and_by_the_power(captured):
    capped = telemetry(captured, "default", clocks_event_reasons=0x4)
    assert "SwPowerCap" in found_in(captured, capped)["power_cap"].evidence
    assert "throttled" not in found_in(captured, capped)
    at_limit = replace(telemetry(captured, "default"), power_limit_w=625.0)
    assert "623 W of 625 W allowed" in found_in(captured, at_limit)["power_cap"].evidence


def test_a_thread_that_never_rests_beside_a_gpu_that_does(captured):
    host = HostUse(99.0, 98.0, 3.0, 1, 40, 1, 16, 60)
    waiting = telemetry(captured, "default", host, utilization_gpu_pct=35.0)
    assert "98 % of a core" in found_in(captured, waiting)["host_thread_busy"].evidence
    # Waiting for a busy GPU by spinning looks the same on the host, and is none.
    assert found_in(captured, telemetry(captured, "default", host)) == {}


def test_one_run_alone_is_told_too(captured):
    run, trace, summary = captured["default"]
    hot = telemetry(captured, "default", clocks_event_reasons=0x20)
    found = run_findings(trace, summary, run.record, sampled=hot)
    assert "throttled" in {finding.key for finding in found}


@pytest.mark.parametrize(("step_ns", "advised"), [(1e9, False), (1.0, True)])
def test_a_busy_host_is_not_sent_to_a_mode_that_was_slower(captured, step_ns, advised):
    host = HostUse(99.0, 98.0, 3.0, 1, 40, 1, 16, 60)
    waiting = telemetry(captured, "default", host, utilization_gpu_pct=35.0)
    tried = (Tried("reduce-overhead", "reduce-overhead", step_ns, (0.0, 0.0, 0.0)),)
    advice = found_in(captured, waiting, tried=tried)["host_thread_busy"].advice
    assert ("reduce-overhead" in advice) == advised
