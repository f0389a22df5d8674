"""One variant of a capture: its child process, its passes, and what goes into its run.json."""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from profiler_core import run_directory as names
from profiler_core.capture.child.warmup import ON_CPU, ON_GPU, WITH_RANKS
from profiler_core.capture.context import Context
from profiler_core.capture.cores import SharedCores
from profiler_core.capture.counters.variant import count_variant
from profiler_core.capture.pack import pack
from profiler_core.capture.process import Child, ChildFailure
from profiler_core.capture.ranks import RankGroup, bound_logs, rank_gpus, rank_uuids, run_folders
from profiler_core.capture.rounds import steps_per_round
from profiler_core.capture.run_writer import RunWriter, write_json
from profiler_core.capture.second_process import SecondProcess, questions
from profiler_core.capture.sources import collect_sources
from profiler_core.capture.spec import VariantSpec
from profiler_core.capture.start_variant import ProcessPaths, cache_of, start_variant
from profiler_core.capture.telemetry.sampling import Sampled

_CYCLES_AT_THE_CEILING, _ALONE_S = 8, 0.3
_LATE = "late"


class VariantRun:
    """The measuring of one variant. After a failure every further call does nothing.

    Args:
        variant: how the model is run.
        writer: of its run directory.
        version: of the code, as people read it; "" where there is one.
        is_first: of its version: its answers are the reference of the others.
    """

    def __init__(
        self, variant: VariantSpec, writer: RunWriter, version: str = "", *, is_first: bool = False
    ) -> None:
        self.variant = variant
        self.writer = writer
        self.version = version
        self.is_first = is_first
        self.failure: ChildFailure | None = None
        self.cores = SharedCores()
        self.can_be_held = False  # to a CPU, by its step
        self._child: Child | RankGroup | None = None
        self._gpus: list[dict[str, Any]] = []  # by rank, what run.json says of them
        self._n_shapes = 1
        self._labels: list[str] = []
        self._typical_step_ns = 1
        self._round_steps = 1
        self._replays_graphs = False
        self._second: SecondProcess | None = None
        self._is_preparing = False

    @property
    def label(self) -> str:
        """What people read."""
        return ", ".join(filter(None, (self.version, self.variant.label)))

    @property
    def is_alive(self) -> bool:
        """Whether it has neither failed nor ended."""
        return self.failure is None and self.writer.record["status"] == "running"

    def attach(self, context: Context) -> None:
        """Set the context that it is measured in."""
        self._context = replace(context, look=partial(self._look, context))
        self._work = context.work / self.writer.directory.name
        self._work.mkdir(parents=True, exist_ok=True)

    # -- the first child: compile, time, profile ------------------------------------------------

    def start(self) -> None:
        """Start the process; it imports torch while others do too."""
        with self._phase("starting", f"Starts the process for {self.label}"):
            run = self.writer.directory
            self._child = self._spawn(
                run / names.TORCH_TRACE, run / names.STDOUT, run / names.TORCH_LOGS
            )
            self.writer.measurement["child_pid"] = self._child.pid
            self._child.tell("load")

    def loaded(self) -> None:
        """Wait until torch is there."""
        with self._phase("starting"):
            of_ranks = [result["environment"] for result in self._running_child().answers()]
            environment = self.writer.record["environment"]
            environment.update(of_ranks[0])
            telemetry = self._context.telemetry
            self.writer.measurement.update(telemetry.facts())
            if telemetry.gpu is not None:
                environment.update(telemetry.gpu.facts())
            self._gpus = rank_gpus(of_ranks, telemetry.gpu_facts())
            self.writer.measurement.update(rank_uuids(self._gpus))

    def prepare(self) -> None:
        """Build, first call, warm-up."""
        self._is_preparing = True
        self._prepare()
        self._is_preparing = False

    def _prepare(self) -> None:
        child = self._running_child
        with self._phase("starting", f"Builds {self._context.spec.title}"):
            built = child().ask("build")
            self._n_shapes, self._labels = built["n_shapes"], built["labels"]
        if not self.is_alive:
            return
        does = "Compiles" if self.variant.compile or self.variant.torchscript else "First call of"
        with self._phase("compiling", f"{does} {self.label}"):
            first = child().ask("first_call")
            # Measured again with a warm cache, when the variants do not fit together: keep cold.
            self.writer.measurement.setdefault("first_call_ns", first["first_call_ns"])
            self.writer.record["environment"].update(first["settings"])
            self.writer.measurement.update(first["facts"])
            self.writer.record["spec"]["training"] = first["trains"]
            self.can_be_held = first["can_be_held"]
            if first.get("engine"):
                self.writer.measurement["engine"] = first["engine"]
        if not self.is_alive:
            return
        spec, on_gpu = self._context.spec, self._context.is_gpu
        limits = WITH_RANKS if spec.n_ranks > 1 else ON_GPU if on_gpu else ON_CPU
        with self._phase("warm-up", f"Warms up {self.label}"):
            result = child().ask(
                "warm_up",
                self._relay("warm-up"),
                floor_steps=limits.floor_steps,
                ceiling_steps=max(limits.ceiling_steps, _CYCLES_AT_THE_CEILING * self._n_shapes),
                ceiling_seconds=limits.ceiling_ns / 1e9,
            )
            if result.get("engine"):  # a later shape or a part may have fallen back since
                called = self.writer.measurement["engine"]["n_calls"]
                self.writer.measurement["engine"] = {**result["engine"], "n_calls": called}
            self.writer.measurement["compiled_by_script"] = result["compiled_by_script"]
            if result["tracing"]:
                self.writer.measurement["tracing"] = result["tracing"]
            self.writer.measurement["warmup_step_ns"] = result["step_ns"]
            self.writer.measurement["warmup_ended_by"] = result["ended_by"]
            self._typical_step_ns = result["typical_step_ns"]
            self._round_steps = steps_per_round(
                self._typical_step_ns, spec.round_steps, spec.round_seconds, self._n_shapes
            )
            if on_gpu:
                self.writer.measurement["alone"] = self._steady(_ALONE_S)

    def run_round(self, index: int, order: int) -> bool:
        """One timed round (`rounds.RoundRunner`)."""
        with self._phase("timing"):
            result = self._running_child().ask(
                "round", n_steps=self._round_steps, cpu=self.cores.cpu_of(index)
            )
            measurement = self.writer.measurement
            measurement.setdefault("rounds", []).append(
                {
                    "index": index,
                    "order": order,
                    "n_steps": self._round_steps,
                    "started_ns": result["started_ns"],
                    "wall_ns": result["wall_ns"],
                    "cpu": result["cpu"],
                }
            )
            measurement.setdefault("step_event_ns", []).extend(result["step_ns"])
            if self._n_shapes > 1:
                cycle = self._labels * (self._round_steps // self._n_shapes)
                measurement.setdefault("step_shapes", []).extend(cycle)
            measurement["n_compilations_while_timed"] = (
                measurement.get("n_compilations_while_timed", 0) + result["n_compilations"]
            )
        return self.is_alive

    def sampled(self) -> Sampled:
        """Where telemetry of this variant goes."""
        return Sampled(self.writer.directory, self._running_child().pid)

    def telemetry(self) -> None:
        """Run alone in steady state on the GPU while it is sampled."""
        context = self._context
        if not context.is_cuda or context.spec.telemetry_seconds <= 0 or not self.is_alive:
            return
        with (
            self._phase("telemetry", f"Runs {self.label} alone for the telemetry"),
            context.telemetry.sampling([self.sampled()]),
        ):
            self.writer.measurement["telemetry"] = self._steady(context.spec.telemetry_seconds)

    def passes(self) -> None:
        """Peak memory, profiler, stacks, memory snapshot: in this order, after all timing."""
        spec, run = self._context.spec, self.writer.directory
        if spec.memory and self._context.is_gpu:
            with self._phase("memory", f"Measures the peak memory of {self.label}"):
                self.writer.measurement.update(self._running_child().ask("peaks"))
        if spec.profile:
            with self._phase("profiling", f"Profiles {spec.steps} steps of {self.label}"):
                self._profile(run / names.TRACE, stacks=False)
        if spec.stacks:
            with self._phase("stacks", f"Profiles {self.label} with Python stacks"):
                self._profile(run / names.TRACE_STACKS, stacks=True)
        if spec.memory and self._context.is_cuda:
            with self._phase("memory", f"Takes a memory snapshot of {self.label}"):
                self._running_child().ask("snapshot", path=str(run / names.MEMORY_SNAPSHOT))

    def make_reference(self, path: Path) -> None:
        """Let the first child run eager in fp64; where it fails, each candidate does it."""
        if not self.is_alive:
            return
        self._say("numerics", f"Runs {self.label} in fp64 as a reference")
        started = time.monotonic()
        try:
            self._running_child().ask("reference", path=str(path))
        except ChildFailure as failure:
            path.unlink(missing_ok=True)
            self._say("numerics", f"No reference from {self.label}: {failure.sentence}")
        self.writer.spent("numerics", started)

    def close(self) -> None:
        """End the first child, keep the source lines that its logs name, make its files small."""
        self.kill()
        for folder in run_folders(self.writer, self._context.spec.n_ranks, self._gpus):
            self._keep_sources(folder)
            pack(folder)
        self.writer.note(bound_logs(self.writer.directory))

    # -- the second child: warm cache, captures of graphs, numerics ------------------------------

    def begin_check(self, reference: Path | None) -> None:
        """Start a fresh process with the filled cache, and ask it everything at once.

        Args:
            reference: the file of `make_reference`, made by this child where it is absent;
                None leaves the numerics out.
        """
        compiled = self.variant.compile or self.variant.torchscript
        asked = questions(
            warm=self._context.spec.warm_compile and compiled,
            graphs=self.writer.directory / names.GRAPH_CAPTURES if self._replays_graphs else None,
            reference=reference,
        )
        if self.is_alive and asked:
            text = f"Starts a second process for {self.label}, with the cache filled"
            self._say(asked[0].phase, text)
            self._child = self._spawn(
                self._work / "torch_trace", self._work / "stdout.txt", self._work / "stderr.txt"
            )
            self._second = SecondProcess(self._child, asked)

    def end_check(self) -> None:
        """Wait for its answers. A failure here does not change the status of the run."""
        if self._second is not None:
            self._second.finish(self.writer, self._say, self.label)
            self._second = None
            self.kill()

    def counters(self) -> None:
        """One step under Nsight Compute, in a third process with the caches filled."""
        if self.is_alive:
            count_variant(self._context, self.variant, self.writer, self._work)

    # -- ends ------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Write the final status of a run that did not fail."""
        if self.is_alive:
            self.writer.end("finished")
            self._say("finished", f"{self.label} is finished")

    def fail(self, failure: ChildFailure) -> None:
        """Stop here, with the sentence in run.json."""
        self.failure = failure
        self.kill()
        self.writer.record["compile_failure"] = failure.compile_failure
        self.writer.end("failed", failure.sentence, failure.kind)
        self._say("failed", f"{self.label} failed: {failure.sentence}")

    def stop(self, status: str, sentence: str) -> None:
        """Stop here where it still runs; what has ended stays as it is."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
        if self.writer.record["status"] == "running":
            self.writer.end(status, sentence)

    def kill(self) -> None:
        """End the child, if there is one, and all that it started."""
        child, self._child = self._child, None
        if child is not None:
            child.kill() if self.failure else child.close()

    def start_over(self) -> None:
        """Forget what was measured beside the others; the cold first call stays."""
        self.kill()
        self.failure = None
        record = self.writer.record
        kept_keys = ("pid", "host", "process_started_at", "first_call_ns", "phase_seconds")
        record["measurement"] = {k: v for k, v in record["measurement"].items() if k in kept_keys}
        record.update(status="running", error=None, error_kind=None, compile_failure=None)
        if "first_call_ns" not in record["measurement"]:
            shutil.rmtree(self._cache(), ignore_errors=True)  # a failed compilation filled it
        for name in (names.TORCH_LOGS, names.STDOUT, names.NVML, names.HOST):
            (self.writer.directory / name).unlink(missing_ok=True)
        shutil.rmtree(self.writer.directory / names.TORCH_TRACE, ignore_errors=True)
        self.writer.write()

    # -- helpers ---------------------------------------------------------------------------------

    def _steady(self, seconds: float) -> dict[str, Any]:
        by_the_clock = self._context.spec.n_ranks == 1
        return self._running_child().ask(
            "steady", seconds=seconds, step_ns=self._typical_step_ns, by_the_clock=by_the_clock
        )

    def _look(self, context: Context) -> None:
        """What its process is waited with: ends a variant that prepares for too long."""
        context.look()
        selection = context.selection
        if self._is_preparing and selection is not None and selection.is_late(self.label):
            raise ChildFailure(
                _LATE, "It was not compiled in the time that was left.", "Give a larger budget."
            )

    def _cache(self) -> Path:
        return cache_of(self._context, self._work)

    def _spawn(self, torch_trace: Path, stdout: Path, stderr: Path) -> Child | RankGroup:
        paths = ProcessPaths(self.writer.directory, self._work, torch_trace, stdout, stderr)
        return start_variant(self._context, self.variant, paths)

    def _keep_sources(self, run: Path) -> None:
        logs = [run / names.TORCH_LOGS, *sorted((run / names.TORCH_TRACE).glob("*.log"))]
        left_out = (*self._context.interpreter.folders(), str(self._context.work))
        write_json(run / names.SOURCES, collect_sources(logs, left_out))

    def _profile(self, path: Path, *, stacks: bool) -> None:
        spec = self._context.spec
        schedule = {
            "wait": spec.profile_wait,
            "warmup": spec.profile_warmup,
            "active": spec.steps,
        }
        with self._context.telemetry.sampling([] if stacks else [self.sampled()]):
            result = self._running_child().ask(
                "profile", path=str(path), schedule=schedule, stacks=stacks, metrics=spec.metrics
            )
        if not stacks:
            self.writer.note(result.get("no_metrics"))
            self._replays_graphs = result["n_graph_captures"] > 0
            self.writer.measurement["profiled"] = {
                "started_ns": result["started_ns"],
                "wall_ns": result["wall_ns"],
                "n_steps": result["n_active_steps"],
            }
            for key in ("peak_allocated_bytes", "peak_reserved_bytes"):
                self.writer.measurement[f"profiled_{key}"] = result[key]

    def _running_child(self) -> Child | RankGroup:
        if self._child is None:
            raise ChildFailure("killed", f"The process of {self.label} is gone.", "Start again.")
        return self._child

    @contextlib.contextmanager
    def _phase(self, phase: str, text: str | None = None) -> Iterator[None]:
        """Report and time a phase; a ChildFailure in it fails the run."""
        if not self.is_alive:
            # A context manager must yield; ChildFailure ends the body at its first question.
            with contextlib.suppress(ChildFailure):
                yield
            return
        if text is not None:
            self._say(phase, text)
        started = time.monotonic()
        try:
            yield
        except ChildFailure as failure:
            self.writer.spent(phase, started)
            if failure.kind == _LATE:
                self.stop("cancelled", failure.sentence)
                self._say(phase, f"Leaves {self.label} out: {failure.sentence}")
            else:
                self.fail(failure)
        else:
            self.writer.spent(phase, started)

    def _relay(self, phase: str) -> Callable[[dict[str, Any]], None]:
        def relay(event: dict[str, Any]) -> None:
            self._say(phase, event["text"], event["done"], event["total"])

        return relay

    def _say(
        self, phase: str, text: str, done: float | None = None, total: float | None = None
    ) -> None:
        self._context.progress.say(phase, text, self.label, done, total)
