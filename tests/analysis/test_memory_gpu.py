"""Peaks from [memory] events against torch.cuda.max_memory_allocated of the same profiled steps.

Captured by the product's own command. Prints the numbers; run with -s to see them.
"""

import subprocess
import sys
from functools import cache

import pytest

from profiler_core.analysis.memory.curve import memory_curves
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.ingest.run import open_run

pytestmark = [pytest.mark.gpu, pytest.mark.torch, pytest.mark.timeout(300)]

# One short round: only memory is looked at, and it repeats to the byte.
QUICK = [
    "--device", "cuda", "--rounds", "1", "--round-steps", "1", "--round-seconds", "0",
    "--telemetry-seconds", "0", "--no-numerics", "--no-warm-compile", "--steps", "3",
]  # fmt: skip
WORKLOADS = ("customcnn", "resnet50", "simplecnn")
VARIANTS = ("eager", "default")


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """(workload, variant) -> run; each workload is captured once."""

    @cache
    def runs(workload):
        folder = tmp_path_factory.mktemp(workload)
        subprocess.run(
            [sys.executable, "-m", "profiler_core", "capture", workload,
             "--variants", ",".join(VARIANTS), "--out", str(folder), *QUICK],
            check=True,
        )  # fmt: skip
        found = [open_run(record.parent) for record in folder.glob("*/*/run.json")]
        return {run.record.variant: run for run in found}

    return lambda workload, variant: runs(workload)[variant]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_peaks_of_the_events_are_the_allocators_own(captured, workload, variant):
    run = captured(workload, variant)
    measurement = run.record.measurement
    curve = memory_curves(read_kineto(run.trace))[0]
    own = (measurement.profiled_peak_allocated_bytes, measurement.profiled_peak_reserved_bytes)
    seen = (curve.peak_allocated_bytes, curve.peak_reserved_bytes)
    print(
        f"\n{workload} {variant}: allocated {seen[0]:,} B in events, {own[0]:,} B by torch "
        f"({seen[0] / own[0] - 1:+.4%}); reserved {seen[1]:,} and {own[1]:,} B "
        f"({seen[1] / own[1] - 1:+.4%}); {len(curve.ts_ns) - 1} events"
    )
    assert curve.device_type == 1
    assert seen[0] == pytest.approx(own[0], rel=0.01)
    assert seen[1] == pytest.approx(own[1], rel=0.01)
