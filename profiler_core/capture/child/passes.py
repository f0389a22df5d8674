"""The passes after the timing: profiler, Python stacks, peak memory, memory snapshot, counters.

They come after every timed round, because the profiler slows a process down even after it ended
(CUPTI is not torn down with CUDA graphs: pytorch#144455).
"""

from __future__ import annotations

import gc
import gzip
import importlib
import inspect
import itertools
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from .accelerator import Accelerator
from .step import Step
from .timing import Clock

_SNAPSHOT_ENTRIES = 100_000  # events of one or two steps; the ring buffer of torch is this long


_COUNTER = re.compile(rb'"ph": ?"C"')


class ProfiledPass:
    """The profiler around steps that the caller runs: `start`, then `stepped` after each step.

    repeat=1 and on_trace_ready, both: a schedule that starts over makes a late export empty.
    The allocator's own peaks are those of the active steps, the very span of the [memory] events.
    They are asked for outside of the ranges of these steps: reading them takes 0.2 to 0.6 ms of the
    host, which would count as work of the last one.

    Args:
        device: the torch.device of the steps.
        path: where the Kineto trace of the active steps goes.
        schedule: numbers of steps: wait, warmup, active.
        stacks: with Python stacks and modules, which distort the times.
        metrics: performance metrics to sample; the GPU's clocks are locked meanwhile.
    """

    def __init__(
        self,
        device: Any,
        path: str,
        schedule: Dict[str, int],
        stacks: bool,
        metrics: Sequence[str] = (),
    ) -> None:
        from torch import profiler

        self.exported = False
        self._path = path
        self._device = device
        self._before_active = schedule["wait"] + schedule["warmup"]
        self._active = schedule["active"]
        self._n = 0
        self._is_dropped = False
        self._peaks: Dict[str, Any] = {}
        activities: List[Any] = [profiler.ProfilerActivity.CPU]
        self._no_metrics = why_no_metrics(device) if metrics else None
        if metrics and self._no_metrics is None:
            sampling = profiler.PerformanceMetricsConfig(metric_names=list(metrics))
            config = profiler.ProfilerActivityConfig(profiler_configs=[sampling])
            activities += [{kind: config} for kind in Accelerator(device).activities()]
        else:
            activities += Accelerator(device).activities()
        self._running = profiler.profile(
            activities=activities,
            schedule=profiler.schedule(repeat=1, **schedule),
            on_trace_ready=self._export,
            record_shapes=True,
            profile_memory=True,
            with_flops=not stacks,
            with_stack=stacks,
        )

    def start(self) -> None:
        """Begin with the next step."""
        self._running.start()
        self._started_ns, self._before = time.time_ns(), time.perf_counter_ns()
        if not self._before_active:
            reset_peaks(self._device)

    def stepped(self) -> bool:
        """Handle the end of a step; True after the last one, when the trace is written."""
        self._n += 1
        is_last = self._n == self._before_active + self._active
        if is_last:
            self._wall_ns = time.perf_counter_ns() - self._before
        if self._n == self._before_active:
            reset_peaks(self._device)
        self._running.step()
        if is_last:
            self._running.stop()
        return is_last

    def drop(self) -> None:
        """Stop before the last step without a trace, since it would hold an incomplete step."""
        self._is_dropped = True
        self._running.stop()

    def result(self) -> Dict[str, Any]:
        """What goes into run.json, after the last step.

        started_ns (epoch) and wall_ns are of all steps on the host, without the export.
        """
        return {
            "n_active_steps": self._active,
            "exported": self.exported,
            "no_metrics": self._no_metrics,
            "started_ns": self._started_ns,
            "wall_ns": self._wall_ns,
            **self._peaks,
        }

    def _export(self, finished: Any) -> None:
        if not self._is_dropped:
            self._peaks = peaks_since(self._device)
            _export(finished, self._path)
            self.exported = True


def _export(finished: Any, path: str) -> None:
    """Write the trace; with the source of compiled kernels where that was asked for.

    TORCH_COMPILE_DEBUG_EXTEND=1 (torch 2.15) is the user's: it puts a wrapper of Python around each
    call of an extern kernel, so what is timed is not the same.
    """
    config = getattr(sys.modules.get("torch._inductor.config"), "trace", None)
    if not getattr(config, "provenance_tracking_to_timeline", False):
        finished.export_chrome_trace(path, **_marked_in_graphs(finished))
        return
    handler = importlib.import_module("torch._inductor.profiler").inductor_trace_handler
    with tempfile.TemporaryDirectory(dir=str(Path(path).parent)) as folder:
        handler(folder, use_gzip=path.endswith(".gz"))(finished)
        (written,) = Path(folder).iterdir()
        written.replace(path)


def _marked_in_graphs(finished: Any) -> Dict[str, Any]:
    """What the user's code marked in its CUDA graphs (`mark_kernels`, torch 2.15), to be exported.

    Torch writes it into the trace after the last step, so nothing that is timed changes.
    """
    module = sys.modules.get("torch.cuda.graph_annotations")
    name = "cuda_graph_annotations"
    if module is None or name not in inspect.signature(finished.export_chrome_trace).parameters:
        return {}
    marked = module.get_kernel_annotations()
    return {name: marked} if marked else {}


def why_no_metrics(device: Any) -> Optional[str]:
    """The sentence that says why no performance metric can be sampled; None where it can."""
    from torch import profiler

    if str(device.type) != "cuda":
        return "Performance metrics are sampled of NVIDIA GPUs alone, so there are none of these."
    if getattr(profiler, "PerformanceMetricsConfig", None) is None:
        return "This torch samples no performance metrics: torch 2.15 is the first that does."
    return None


def profile(
    step: Step,
    clock: Clock,
    device: Any,
    path: str,
    schedule: Dict[str, int],
    stacks: bool,
    metrics: Sequence[str] = (),
) -> Dict[str, Any]:
    """Write a Kineto trace of `active` steps (rounded up to whole cycles of shapes).

    Where the device's driver refuses to sample metrics the steps are profiled without them.
    """
    whole_cycles = {name: n + -n % step.n_shapes for name, n in schedule.items()}

    def run(sampled: Sequence[str]) -> Dict[str, Any]:
        return _profile(step, clock, ProfiledPass(device, path, whole_cycles, stacks, sampled))

    if not metrics:
        return run(())
    try:
        result = run(metrics)
    except RuntimeError as error:  # also one of the step: then it is raised again
        refusal = (str(error).strip() or type(error).__name__).splitlines()[0]
        return dict(
            run(()), no_metrics="The driver sampled no performance metrics: {}".format(refusal)
        )
    if result["no_metrics"] is None and not _has_samples(path):
        result["no_metrics"] = (
            "The driver sampled no performance metrics, and torch does not say why: most often "
            "these are for administrators alone (NVreg_RestrictProfilingToAdminUsers), or a name "
            "is not one of this GPU's."
        )
    return result


def _profile(step: Step, clock: Clock, running: ProfiledPass) -> Dict[str, Any]:
    clock.synchronize()
    running.start()
    try:
        for index in itertools.count():
            step.ready()
            step(index)
            if running.stepped():
                break
    except BaseException:
        running.drop()
        raise
    clock.synchronize()
    return running.result()


def _has_samples(path: str) -> bool:
    """Does a trace have a counter event? The text is searched, as the trace may be large."""
    with gzip.open(path, "rb") as file:
        end = b""
        for piece in iter(lambda: file.read(1 << 20), b""):
            if _COUNTER.search(end + piece):
                return True
            end = piece[-16:]
    return False


def peaks(step: Step, clock: Clock, device: Any) -> Dict[str, Any]:
    """Peak memory of a few steady steps, in a pass of its own.

    What compiling and autotuning left in the allocator's cache is given back first, so that
    peak_reserved_bytes is what the steps need (a CUDA graph's pool is kept, and counts).
    """
    if not Accelerator(device).has_peaks:
        return peaks_since(device)
    gc.collect()
    clock.synchronize()
    Accelerator(device).empty_cache()
    reset_peaks(device)
    for index in range(max(3, step.n_shapes)):
        step.ready()
        step(index)
    clock.synchronize()
    return peaks_since(device)


def reset_peaks(device: Any) -> None:
    """Reset the allocator's peaks."""
    Accelerator(device).reset_peaks()


def peaks_since(device: Any) -> Dict[str, Any]:
    """Both peaks since the last reset; null where the allocator keeps none."""
    return Accelerator(device).peaks()


class AllocationHistory:
    """torch's memory snapshot with the history of allocations, from now on until `stop`."""

    def __init__(self, path: str) -> None:
        from torch.cuda import memory

        self._path = path
        # Python frames only: to name the C++ ones takes minutes.
        memory._record_memory_history(stacks="python", max_entries=_SNAPSHOT_ENTRIES)

    def write(self) -> None:
        """Dump it; the device has to be synchronised."""
        from torch.cuda import memory

        memory._dump_snapshot(self._path)

    def stop(self) -> None:
        """Stop recording the history."""
        from torch.cuda import memory

        memory._record_memory_history(enabled=None)


def snapshot(step: Step, clock: Clock, path: str) -> Dict[str, Any]:
    """Write torch's memory snapshot of one step of each shape, with the allocations' history."""
    clock.synchronize()
    history = AllocationHistory(path)
    try:
        for index in range(step.n_shapes):
            step.ready()
            step(index)
        clock.synchronize()
        history.write()
    finally:
        history.stop()
    return {}


def counted(step: Step, clock: Clock) -> Dict[str, Any]:
    """One step of each shape between cudaProfilerStart and -Stop, for Nsight Compute around us."""
    from torch.cuda import profiler

    clock.synchronize()
    profiler.start()
    try:
        for index in range(step.n_shapes):
            step.ready()
            step(index)
        clock.synchronize()
    finally:
        profiler.stop()
    return {"n_steps": step.n_shapes}
