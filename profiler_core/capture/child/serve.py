"""The child's main loop: take a command, do it, answer `done` with a result or `failed`."""

from __future__ import annotations

import faulthandler
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from . import accelerator, compiled_parts, engines, failures, held, tracing_times
from .channel import Channel, die_with_parent
from .warmup import Limits, warm_up

# The name of each command's stage in the sentence of a failure.
_STAGES = {
    "load": "loading torch",
    "build": "building the model",
    "first_call": "the first call",
    "warm_up": "the warm-up",
    "round": "the timing",
    "steady": "the telemetry phase",
    "peaks": "the memory pass",
    "profile": "the profiled pass",
    "snapshot": "the memory snapshot",
    "counted": "the counters pass",
    "watch_graphs": "the capture of the CUDA graphs",
    "capture_graphs": "the capture of the CUDA graphs",
    "reference": "the eager reference",
    "compare": "the check of the answers",
}


# Inductor's graphs warm up in the first call of a function and are captured in the second; one
# more, because what a training step keeps may make another path of them.
_STEPS_THAT_CAPTURE = 3


def serve(spec: Dict[str, Any]) -> int:
    """Run the launcher's commands until it sends exit.

    Args:
        spec: what the launcher wrote: commands, events, die_with_parent, device, seed, workload,
            batch_size, shapes, options, training, variant, and ranks where the step is
            made by several processes (see `parallel.join`).
    """
    if spec["die_with_parent"]:
        die_with_parent()
    faulthandler.enable(all_threads=False)  # a crash leaves its lines of Python in the log
    channel = Channel(spec["commands"], spec["events"])
    worker = Worker(spec, channel)
    while True:
        command = channel.next_command()
        name = command.pop("command")
        if name == "exit":
            sys.stdout.flush()
            sys.stderr.flush()
            return 0
        work: Callable[..., Dict[str, Any]] = getattr(worker, "do_" + name)
        try:
            result = work(**command)
        except BaseException as error:  # also SystemExit: the user's code may call exit()
            traceback.print_exc()
            channel.send("failed", command=name, **worker.describe(error, _STAGES[name]))
        else:
            channel.send("done", command=name, result=result)


class Worker:
    """One variant in this process. torch is imported by the first command, not before."""

    def __init__(self, spec: Dict[str, Any], channel: Channel) -> None:
        self._spec = spec
        self._channel = channel
        self._user_file: Optional[str] = None
        self._tracing = tracing_times.TracingTimes()
        self._compiled = bool(spec["variant"]["compile"] or spec["variant"]["torchscript"])
        if ".py" in spec["workload"]:
            self._user_file = str(Path(spec["workload"].rpartition(":")[0]).absolute())

    def describe(self, error: BaseException, stage: str) -> Dict[str, Any]:
        """The sentence for an exception of one of the commands."""
        answer = failures.describe(error, stage, self._user_file, self._compiled)
        hint = engines.remedy(self._spec["variant"]["backend"], self._spec["training"])
        if hint is not None and answer["kind"] == "compile":
            answer["remedy"] = hint
        step = self.__dict__.get("_step")
        if answer["kind"] == "user" and step is not None and step.may_fill_up:
            answer["remedy"] = (
                "The first {} calls went well: where the step keeps state that fills up, such as "
                "a KV cache or a schedule, return Decode(model, step=…, reset=…, reset_every=…) or "
                "Training(…, reset=…); reset is called outside of what is timed.".format(
                    step.n_done
                )
            )
        return answer

    def do_load(self) -> Dict[str, Any]:
        """Import torch and return the environment."""
        from . import project, settings

        settings.before_torch(self._spec["variant"].get("settings", {}))
        workload = project.enter(self._spec["workload"], self._spec.get("directory"))
        try:
            import torch
        except Exception as error:  # whatever a broken installation raises
            raise failures.CannotRunError(
                "torch cannot be imported by {}: {}".format(sys.executable, error),
                "Install torch there, or pass --python.",
            ) from error
        from . import (
            environment,
            exchange,
            graph_captures,
            numerics,
            parallel,
            timing,
            variants,
            workloads,
        )

        self._device = _device(torch, self._spec["device"])
        accelerator.Accelerator(self._device).select()
        parallel.join(self._spec.get("ranks"), self._device)
        self._variant = variants.variant_from(self._spec["variant"])
        self._bench = numerics.Bench(
            workloads.Request(
                workload=workload,
                batch_size=self._spec["batch_size"],
                shapes=tuple(tuple(shape) for shape in self._spec["shapes"]),
                options=dict(self._spec["options"]),
                training=self._spec["training"],
                seed=self._spec["seed"],
                device=str(self._device),
                as_is_beside=self._spec.get("as_is_beside", False),
            ),
            self._device,
        )
        variants.apply_precision(self._variant)
        settings.apply(self._variant.settings)
        exchange.apply(self._variant.settings)
        if self._variant.compile:
            variants.apply_inductor(self._device)
        else:
            variants.show_cpp_kernels(self._device)
        self._clock = timing.Clock(self._device)
        self._graphs = graph_captures.GraphCaptures()
        self._graphs.start()
        return {"environment": environment.environment(self._device), "pid": os.getpid()}

    def do_build(self) -> Dict[str, Any]:
        """Build model and inputs on the device; nothing is compiled yet."""
        from . import parallel, variants

        built = variants.build(self._bench.request, self._variant, self._device)
        self._built = parallel.wrapped(built, self._device, self._variant.settings)
        variants.show_cpp_kernels(self._device)  # the user's code may have loaded Inductor
        self._n_frames_built = compiled_parts.n_frames()
        self._clock.synchronize()
        return {"n_shapes": len(built.labels), "labels": built.labels}

    def do_first_call(self) -> Dict[str, Any]:
        """Compile and run the first step; the time of both."""
        from . import environment, workloads
        from .step import Step
        from .steps import step_of

        workloads.seed_everything(self._spec["seed"])

        def first() -> Step:
            step = step_of(self._built, self._variant, self._device, self._spec["training"])
            self._step = step
            self._tracing.start()
            step.ready()
            step(0)
            return step

        self._step, first_call_ns = self._clock.once(first)
        engines.check_ran()
        step = self._step
        return {
            "first_call_ns": first_call_ns,
            "trains": step.trains,
            "can_be_held": step.can_be_held,
            "facts": {
                "compiled": (
                    {
                        **step.target.facts(),
                        "regions": step.regions,
                        "calls": step.calls,
                        "is_handed": self._built.compiles_itself,
                    }
                    if self._variant.compile
                    else None
                ),
                "mode": step.mode,
                "tokens_per_step": step.tokens,
                "batches_per_step": step.batches_per_step,
                "notes": [*step.notes, *accelerator.Accelerator(self._device).lacks()],
            },
            "settings": environment.settings(),
            "engine": engines.facts(),
        }

    def do_warm_up(
        self, floor_steps: int, ceiling_steps: int, ceiling_seconds: float
    ) -> Dict[str, Any]:
        """Run until steady or at the ceiling."""
        reported_at = [time.monotonic()]

        def say(n_steps: int) -> None:
            steps = "step" if n_steps == 1 else "steps"
            self._channel.progress("{} warm-up {}".format(n_steps, steps), n_steps, None)

        def progress(n_steps: int) -> None:
            if time.monotonic() - reported_at[0] > 0.25:
                reported_at[0] = time.monotonic()
                say(n_steps)

        n = self._step.n_shapes

        def ready() -> None:
            self._step.ready()
            self._clock.synchronize()

        result = warm_up(
            lambda index: self._clock.once(lambda: self._step(index)),
            time.perf_counter_ns,
            compiled_parts.n_compilations,
            Limits(floor_steps, ceiling_steps, int(ceiling_seconds * 1e9)),
            cycle=n,
            progress=progress,
            ready=ready,
        )
        say(len(result.step_ns))
        last = result.step_ns[-5 * n :]
        return {
            "step_ns": result.step_ns,
            "ended_by": result.ended_by,
            "engine": engines.facts(),
            "tracing": self._tracing.rows(),
            "compiled_by_script": None
            if self._variant.compile
            else compiled_parts.compiled_by_script(
                self._built.model if self._built.step is None else self._built.step,
                self._n_frames_built,
            ),
            # Shapes of a cycle differ, so the mean; single steps jitter, so the median.
            "typical_step_ns": sum(last) // len(last) if n > 1 else sorted(last)[len(last) // 2],
        }

    def do_round(self, n_steps: int, cpu: Optional[int] = None) -> Dict[str, Any]:
        """One timed round, launched from a CPU where one is named."""
        before = compiled_parts.n_compilations()
        with held.held_to(cpu) as held_cpu:  # collecting garbage warms the core up
            result = self._clock.round(self._step, 0, n_steps)
        result["cpu"] = held_cpu
        result["n_compilations"] = compiled_parts.n_compilations() - before
        return result

    def do_steady(self, seconds: float, step_ns: int, by_the_clock: bool) -> Dict[str, Any]:
        """Steady state for the telemetry phase."""
        return self._clock.steady(self._step, seconds, step_ns, by_the_clock)

    def do_peaks(self) -> Dict[str, Any]:
        """Peak memory."""
        from . import passes

        return passes.peaks(self._step, self._clock, self._device)

    def do_profile(
        self, path: str, schedule: Dict[str, int], stacks: bool, metrics: List[str]
    ) -> Dict[str, Any]:
        """A profiled pass."""
        from . import passes

        sampled = [] if stacks else metrics
        result = passes.profile(
            self._step, self._clock, self._device, path, schedule, stacks, sampled
        )
        return dict(result, n_graph_captures=self._graphs.n_captures)

    def do_snapshot(self, path: str) -> Dict[str, Any]:
        """A memory snapshot."""
        from . import passes

        return passes.snapshot(self._step, self._clock, path)

    def do_counted(self) -> Dict[str, Any]:
        """The step that Nsight Compute measures."""
        from . import passes

        return passes.counted(self._step, self._clock)

    def do_watch_graphs(self, path: str) -> Dict[str, Any]:
        """Profile graphs that are captured from now on, into traces in the folder `path`."""
        self._graphs.folder = path
        return {}

    def do_capture_graphs(self) -> Dict[str, Any]:
        """Make the first steps after the first call, in which Inductor captures its graphs."""
        for index in range(_STEPS_THAT_CAPTURE * self._step.n_shapes):
            self._step.ready()
            self._step(index)
        self._clock.synchronize()
        self._graphs.stop()
        return {"note": self._graphs.note()}

    def do_reference(self, path: str) -> Dict[str, Any]:
        """The eager answers that candidates are judged against."""
        from . import apart, numerics

        self._release()
        with apart.unlogged():
            return numerics.make_reference(self._bench, self._variant, path)

    def do_compare(self, path: str) -> Dict[str, Any]:
        """Judge this variant's answers."""
        from . import numerics

        return numerics.compare(self._bench, self._variant, path, getattr(self, "_step", None))

    def _release(self) -> None:
        # The measured model goes first: the reference needs its memory.
        self.__dict__.pop("_step", None)
        self.__dict__.pop("_built", None)


def _device(torch: Any, text: str) -> Any:
    device = torch.device(text)
    if device.type not in accelerator.KINDS:
        return device
    n, name = accelerator.n_devices(torch, device.type), device.type.upper()
    if not n:
        raise failures.CannotRunError(
            "Device {} is asked for, but torch {} sees no {} device.".format(
                text, torch.__version__, name
            ),
            "Use --device cpu, or an interpreter whose torch fits the driver.",
        )
    index = device.index or 0
    if index >= n:
        raise failures.CannotRunError(
            "Device {} is asked for, but there are only {} {} devices.".format(text, n, name),
            "Use {0}:0 to {0}:{1}.".format(device.type, n - 1),
        )
    return torch.device(device.type, index)
