"""The counters pass with a real Nsight Compute on a real GPU: nearly every kernel has its row."""

import pytest

from profiler_core.analysis.counters.join import join
from profiler_core.analysis.work import device_work
from profiler_core.capture.counters.tool import find_tool
from profiler_core.capture.launcher import run_capture
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.ingest.counters.reader import read_counters
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from tests.capture.conftest import processes_with

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.torch,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(find_tool() is None, reason="Nsight Compute is not installed"),
]
VARIANTS = ("eager", "default", "reduce-overhead")


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    spec = CaptureSpec(
        "resnet50",
        variants=parse_variants(",".join(VARIANTS)),
        device="cuda",
        rounds=10,
        telemetry_seconds=0.0,
        numerics=False,
        memory=False,
        counters=True,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(home))
        finished = run_capture(spec, home / "runs")
    assert [run.error for run in finished.runs] == [None] * len(VARIANTS)
    assert not processes_with(str(home))
    return {run.variant: open_run(run.directory) for run in finished.runs}


@pytest.mark.parametrize("variant", VARIANTS)
def test_nearly_all_kernel_time_is_joined(captured, variant):
    run = captured[variant]
    assert run.record.measurement.counters.problem is None
    counters = read_counters(run.counters)
    assert set(counters.missing) <= {"tensor_pct"}
    joined = join(counters, device_work(open_trace(run.trace)))
    assert joined.n_counted_steps == 1
    assert joined.matched_time_share >= 0.99
