"""One call under torch.profiler on the CPU, and what tensors take by torch itself."""

from profiler_core.analysis.ledger.work_units import host_work
from profiler_core.ingest.open import open_trace
from tests.lazily import Lazily

torch = Lazily("torch")


def units_of(call, folder):
    """The trace of one call, its units, each an operator as the host asked for it, its result."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        result = call()
    profile.export_chrome_trace(str(folder / "trace.json"))
    trace = open_trace(folder / "trace.json")
    (step,) = host_work(trace).steps
    return trace, step.units, result


def n_bytes(*tensors):
    """Of those that are no None."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors if tensor is not None)
