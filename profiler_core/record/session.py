"""One recording: its run directory, its stages in turn, and its final status.

Whatever goes wrong in here ends the recording and never the user's loop.
"""

from __future__ import annotations

import contextlib
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, List, Optional

from profiler_core import run_directory as names
from profiler_core.capture.child import environment, failures
from profiler_core.capture.child.compiled_parts import compiled_by_script
from profiler_core.capture.child.graph_captures import GraphCaptures
from profiler_core.capture.provenance import code_version
from profiler_core.capture.run_writer import Heartbeat, RunWriter, write_json
from profiler_core.capture.sources import collect_sources
from profiler_core.capture.telemetry.sampling import Sampled, Telemetry, telemetry_of
from profiler_core.record.compiling import InductorSettings, counts, did_compile
from profiler_core.record.logs import CompilerLogs
from profiler_core.record.plan import Plan
from profiler_core.record.run_location import Ranks, RunLocation
from profiler_core.record.stages.order import stages_of
from profiler_core.record.stages.stage import Recording, Stage


class Session:
    """Made by `Recorder.start`; `after_step` until it says True, or `end`."""

    def __init__(
        self,
        plan: Plan,
        location: RunLocation,
        ranks: Ranks,
        record: Dict[str, Any],
        logs: CompilerLogs,
        device: Optional[str],
        graphs: Optional[GraphCaptures] = None,
    ) -> None:
        self.directory = location.directory
        self._graphs = graphs
        self.n_steps = 0
        self._plan = plan
        self._ranks = ranks
        self._requested_device = device
        self._telemetry: Optional[Telemetry] = None
        self._stage: Optional[Stage] = None
        self._stages_left: List[Stage] = []
        self._recording: Optional[Recording] = None
        self._writer = RunWriter(location.directory, record)
        self._heartbeat = Heartbeat([self._writer])
        self._settings = InductorSettings()
        self._logs = logs
        self.is_over = self._is_paused = False
        self._error_kind: Optional[str] = None
        with contextlib.ExitStack() as undo:  # a failure half-way leaves nothing switched on
            self._heartbeat.__enter__()
            undo.callback(self._heartbeat.__exit__)
            self._settings.set()
            undo.callback(self._settings.undo)
            self._logs.start()
            undo.callback(self._logs.stop)
            self._counts = counts()
            undo.pop_all()
        self._measurement["child_pid"] = self._measurement["pid"]
        self._started = time.monotonic()
        self._before = time.perf_counter_ns()

    @property
    def record(self) -> Dict[str, Any]:
        """run.json as it stands."""
        return self._writer.record

    @property
    def _measurement(self) -> Dict[str, Any]:
        return self._writer.measurement

    def after_step(self) -> bool:
        """Handle the end of one step of the loop; True when the recording is over."""
        if self._is_paused:
            return False
        self.n_steps += 1
        try:
            if self._stage is None:
                self._first_step()
                return self._next()
            return self._stage.step() and self._next()
        except Exception as error:
            self._fail(error)
            return True

    def pause(self) -> None:
        """Leave out what follows, until `resume`."""
        if self._is_paused or self.is_over:
            return
        self._is_paused = True
        try:
            if self._stage is not None:
                self._stage.pause()
        except Exception as error:
            self._fail(error)

    def resume(self) -> bool:
        """A step begins here; True when the recording is over."""
        if not self._is_paused or self.is_over:
            return self.is_over
        self._is_paused = False
        try:
            if self._stage is None:
                self._before = time.perf_counter_ns()
                return False
            return not self._stage.resume() and self._next()
        except Exception as error:
            self._fail(error)
            return True

    def end(self, status: str, sentence: Optional[str] = None) -> None:
        """Stop everything that the recording started and write its final status."""
        if self.is_over:
            return
        self.is_over = True
        stage, self._stage = self._stage, None
        problems = [
            problem
            for work in (
                stage.abandon if stage is not None and status != "finished" else None,
                self._logs.stop,
                self._settings.undo,
                self._collect,
            )
            if work is not None and (problem := _problem_of(work)) is not None
        ]
        for problem in problems:
            self._note("The recording did not end cleanly: {}".format(problem))
        self._spent(stage)
        # A reader may ask whether anything was measured: the sentence says until where.
        _problem_of(lambda: self._writer.end(status, sentence, self._error_kind))
        self._heartbeat.__exit__()

    def end_sentence(self, happened: str) -> str:
        """A sentence that says why the loop ended too early, and what was kept."""
        steps = "1 step" if self.n_steps == 1 else "{} steps".format(self.n_steps)
        doing = self._stage.doing if self._stage is not None else "the first step"
        n_rounds = len(self._measurement.get("rounds", ()))
        rounds_kept = {0: "No timed round is", 1: "One timed round is"}.get(
            n_rounds, "{} timed rounds are".format(n_rounds)
        )
        return "{} after {}, in {}. {} kept.".format(happened, steps, doing, rounds_kept)

    def describe(self, error: BaseException, user_file: Optional[str]) -> str:
        """A sentence about the exception that the user's code raised; its kind goes to run.json."""
        doing = self._stage.doing if self._stage is not None else "the first step"
        stage = "step {} ({})".format(self.n_steps + 1, doing)
        answer = failures.describe(error, stage, user_file, self._did_compile() is True)
        self._error_kind = answer["kind"]
        self.record["compile_failure"] = answer.get("compile_failure")
        remedy = answer["remedy"] if answer["kind"] in ("memory", "stated", "compile") else ""
        return "{} {}".format(answer["problem"], remedy).strip()

    # -- the stages -----------------------------------------------------------------------------

    def _first_step(self) -> None:
        self._measurement["first_call_ns"] = time.perf_counter_ns() - self._before
        device = _device(self._requested_device)
        self.record["environment"].update(environment.environment(device))
        self.record["environment"].update(environment.settings())
        self.record["environment"].update(code_version(Path(sys.argv[0] or ".").absolute().parent))
        if self._logs.switched_on is not None:
            self.record["environment"]["torch_logs"] = self._logs.switched_on
        uuids = [None] * (device.index or 0) + [self.record["environment"].get("gpu_uuid")]
        self._telemetry = telemetry_of([str(device)], uuids)
        self._measurement.update(self._telemetry.facts())
        if self._telemetry.gpu is not None:
            self.record["environment"].update(self._telemetry.gpu.facts())
        self._recording = Recording(
            device, self.directory, self._measurement, self._sampling, self._writer.write
        )
        self._stages_left = stages_of(
            self._plan, self._ranks, self._recording.is_cuda, self._graphs
        )

    def _next(self) -> bool:
        """Begin the next stage that has something to measure; True when none is left."""
        self._spent(self._stage)
        while self._stages_left and self._recording is not None:
            stage = self._stages_left.pop(0)
            if stage.begin(self._recording):
                self._stage = stage
                self._writer.write()
                self._started = time.monotonic()
                return False
        self.end("finished")
        return True

    def _fail(self, error: Exception) -> None:
        doing = self._stage.doing if self._stage is not None else "the first step"
        text = str(error).strip() or type(error).__name__
        self.end(
            "failed",
            "The Recorder itself failed in {}, and the loop went on: {}: {}".format(
                doing, type(error).__name__, text.splitlines()[0]
            ),
        )

    def _sampling(self, period_s: float) -> ContextManager[None]:
        if self._telemetry is None:
            return contextlib.nullcontext()
        return self._telemetry.sampling(
            [Sampled(self.directory, self._measurement["pid"])], period_s
        )

    def _spent(self, stage: Optional[Stage]) -> None:
        seconds = self._measurement.setdefault("phase_seconds", {})
        phase = stage.phase if stage is not None else "first step"
        seconds[phase] = round(seconds.get(phase, 0.0) + time.monotonic() - self._started, 3)

    # -- the end --------------------------------------------------------------------------------

    def _did_compile(self) -> Optional[bool]:
        return did_compile(self._counts, counts())

    def _collect(self) -> None:
        """Record what only the end shows: whether it compiled, and the lines that logs name."""
        after = counts()
        compiled = did_compile(self._counts, after)
        self.record["spec"]["compile"] = compiled
        if "eager" in self.record["variant"].lower():
            self._measurement["compiled_by_script"] = compiled_by_script(None, self._counts.frames)
        if compiled is not False:
            for note in self._logs.missing(had_compiled=self._counts.compilations > 0):
                self._note(note)
        hits = after.cache_hits - self._counts.cache_hits
        misses = after.cache_misses - self._counts.cache_misses
        if hits > 0:
            self._note(
                "Inductor's cache already held {} of {} graphs, so the compile time is not that of "
                "a first compilation.".format(hits, hits + misses)
            )
            if not misses:  # a first call with the cache filled, as a capture's second child has it
                first = self._measurement.pop("first_call_ns", None)
                self._measurement["warm_first_call_ns"] = first
        write_json(
            self.directory / names.SOURCES, collect_sources(self._logs.files(), _not_users())
        )

    def _note(self, sentence: str) -> None:
        self._measurement.setdefault("notes", []).append(sentence)


def _problem_of(work: Callable[[], Any]) -> Optional[str]:
    """Call `work`; returns its exception as one line, None without one."""
    try:
        work()
    except Exception as error:
        return "{}: {}".format(type(error).__name__, str(error).strip() or "no message")
    return None


def _device(requested: Optional[str]) -> Any:
    """Where the steps ran: as asked, else the current GPU if this process holds memory on it."""
    import torch

    device = torch.device(requested) if requested is not None else torch.device("cpu")
    if requested is None and torch.cuda.is_available() and torch.cuda.is_initialized():
        index = torch.cuda.current_device()
        if torch.cuda.memory_allocated(index) > 0:
            device = torch.device("cuda", index)
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    return device


def _not_users() -> Any:
    """Folders whose files are not the user's: torch, the standard library, and ours."""
    import torch

    return (
        str(Path(torch.__file__).parent),
        sysconfig.get_paths()["stdlib"],
        str(Path(__file__).resolve().parents[1]),
    )
