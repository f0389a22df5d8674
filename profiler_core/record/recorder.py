"""`Recorder`, the class that a training script uses to record itself."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Callable, Dict, Iterator, Optional, Type, Union

from profiler_core import run_directory as names
from profiler_core.capture import handover
from profiler_core.capture.child.graph_captures import GraphCaptures
from profiler_core.errors import BadInput
from profiler_core.record.logs import CompilerLogs
from profiler_core.record.plan import Plan
from profiler_core.record.run_location import ranks, run_location
from profiler_core.record.session import Session

_n_recorders = 0  # started in this process
_active: Optional[Recorder] = None


class Recorder:
    """Records a training loop as a run directory, while the loop runs.

        with Recorder("runs/", workload="my-train", variant="default") as recorder:
            for batch in loader:
                train_step(batch)
                recorder.step()

    A step is what lies between two calls of `step`, the data loader included. The recording warms
    up, times, samples, profiles, and stops by itself; after that `step` does nothing. Without a
    `with`, `start` and `close` do the same.

    Args:
        directory: the run directory is made in there; `fusionscope run --out` has precedence.
        workload: what is trained; only runs of the same workload are compared.
        variant: how it is run, for example "eager" or "default" (the mode of torch.compile).
        name: what people read; made of workload and variant where it is left out.
        batch_size: samples per step, for samples per second and for energy per sample.
        training: False for a loop that only infers.
        notes: anything a reader should know.
        device: "cuda:0" or "cpu", where it is not the one that the first step used.
        job: an id that all ranks of a job over several hosts share, where the launcher sets none.
        enabled: False makes everything here do nothing.
        options: those of `Plan`: skip_steps, warm_up_floor, warm_up_ceiling, rounds, round_steps,
            round_seconds, telemetry_seconds, profile, graphs, profile_wait, profile_warmup,
            steps, stacks, memory_snapshot.

    Raises:
        BadInput: an option cannot be, the folder cannot be written, or another Recorder records.
    """

    def __init__(
        self,
        directory: Union[str, os.PathLike[str]] = "runs",
        workload: str = "",
        variant: str = "",
        *,
        name: Optional[str] = None,
        batch_size: Optional[int] = None,
        training: bool = True,
        notes: str = "",
        device: Optional[str] = None,
        job: Optional[str] = None,
        enabled: bool = True,
        **options: Any,
    ) -> None:
        unknown = sorted(set(options) - set(Plan.__dataclass_fields__))
        if unknown:
            raise BadInput(
                "Recorder has no option {}.".format(unknown[0]),
                remedy="Use one of {}.".format(", ".join(Plan.__dataclass_fields__)),
            )
        self._plan = Plan(**options)
        self._out = Path(os.environ.get(handover.OUT) or directory)
        self._script = Path(sys.argv[0] or "script").stem
        self._workload = workload or self._script
        self._variant = variant
        self._name = name
        self._spec: Dict[str, Any] = {
            "recorded": True,
            "batch_size": batch_size,
            "training": training,
            "notes": notes,
            **self._plan.to_dict(),
        }
        self._device = device
        self._job = job
        self._is_enabled = enabled
        self._session: Optional[Session] = None
        self._after_step: Optional[Callable[[], bool]] = None
        self._old_handler: Any = None
        self.directory: Optional[Path] = None  # of the run, once it has begun
        self._graphs = self._watch_graphs() if enabled else None

    def __enter__(self) -> Recorder:
        self.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close(error)

    def start(self) -> None:
        """Start recording; the first step starts here too."""
        global _n_recorders, _active  # noqa: PLW0603 - one profiler, one logging for a process
        if not self._is_enabled:
            return
        if _active is not None:
            raise BadInput(
                "A Recorder is already recording ({}).".format(_active.directory),
                remedy="Close it before you start another.",
            )
        process_ranks = ranks()
        try:
            location = run_location(
                self._out.expanduser().absolute(),
                self._workload,
                self._variant,
                process_ranks,
                self._job,
                _n_recorders,
            )
        except OSError as error:
            raise self._not_written(error) from error
        handed = handover.handed_over()
        logs = CompilerLogs(location.directory, handed, process_ranks.world_size == 1)
        label = " ".join(filter(None, (self._workload, self._variant)))
        run_id = location.capture_id + (
            ".rank{}".format(process_ranks.rank) if process_ranks.rank else ""
        )
        record = {
            "run_id": run_id,
            "capture_id": location.capture_id,
            "role": None,
            "baseline_run_id": None,
            "name": self._name or label,
            "workload": self._workload,
            "variant": self._variant,
            "rank": process_ranks.rank,
            "world_size": process_ranks.world_size,
            "spec": self._spec,
        }
        try:
            self._session = Session(
                self._plan, location, process_ranks, record, logs, self._device, self._graphs
            )
        except OSError as error:
            raise self._not_written(error) from error
        self.directory = location.directory
        if handed is not None:
            handed.add_run(location.directory)
        self._after_step = self._session.after_step
        _n_recorders += 1
        _active = self
        atexit.register(self._at_exit)
        self._catch_sigterm()

    def _not_written(self, error: OSError) -> BadInput:
        return BadInput(
            "A run cannot be written into {}: {}.".format(self._out, error.strerror),
            remedy="Pass another folder to Recorder, or to fusionscope run --out.",
        )

    def step(self) -> None:
        """Mark the end of a step. Does nothing before `start` and once the recording is done."""
        after_step = self._after_step
        if after_step is not None and after_step():
            self._unhook()

    def pause(self) -> None:
        """Leave out what follows, until `resume`: an evaluation, a checkpoint, a restart.

        Call it right after `step`. Calls of `step` meanwhile count nothing.
        """
        if self._after_step is not None and self._session is not None:
            self._session.pause()
            if self._session.is_over:
                self._unhook()

    def resume(self) -> None:
        """Go on after `pause`: the next step begins here."""
        if self._after_step is not None and self._session is not None and self._session.resume():
            self._unhook()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """What is done in this `with` is no step: `with recorder.paused(): evaluate(model)`."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def close(self, error: Optional[BaseException] = None) -> None:
        """End the recording now; does nothing once it is done.

        Args:
            error: what ended the loop.
        """
        session = self._session
        if self._after_step is None or session is None:
            return
        self._after_step = None
        if isinstance(error, KeyboardInterrupt):
            session.end("cancelled", session.end_sentence("Stopped by Ctrl-C"))
        elif isinstance(error, (SystemExit, GeneratorExit)):
            session.end("failed", session.end_sentence("The script left the loop"))
        elif error is not None:
            session.end("failed", session.describe(error, sys.argv[0] or None))
        else:
            remedy = "Give the loop more steps, or ask for less (rounds=, round_steps=, steps=)."
            session.end("failed", "{} {}".format(session.end_sentence("The loop ended"), remedy))
        self._unhook()

    @property
    def is_done(self) -> bool:
        """Whether the recording has ended, successfully or not, or is disabled."""
        return not self._is_enabled or (self._session is not None and self._session.is_over)

    def _watch_graphs(self) -> Optional[GraphCaptures]:
        """Count CUDA graphs that are captured from now on, or profile them.

        From the construction on, because scripts capture theirs before the loop.
        """
        if not self._plan.profile:
            return None
        folder = tempfile.mkdtemp(prefix="fusionscope-") if self._plan.graphs else None
        graphs = GraphCaptures(folder and str(Path(folder, names.GRAPH_CAPTURES)))
        graphs.start()
        weakref.finalize(self, _forget, graphs, folder)
        return graphs

    def _unhook(self) -> None:
        """Remove the exit and signal handlers, and print the result of the recording."""
        global _active  # noqa: PLW0603
        if self._graphs is not None:
            self._graphs.stop()
        self._after_step = None
        _active = None
        atexit.unregister(self._at_exit)
        if self._old_handler is not None:
            signal.signal(signal.SIGTERM, self._old_handler)
            self._old_handler = None
        session = self._session
        if session is not None and session.record["rank"] == 0:
            print(_last_line(session), file=sys.stderr, flush=True)

    def _at_exit(self) -> None:
        self.close(SystemExit())

    def _catch_sigterm(self) -> None:
        """Handle SIGTERM, which torchrun, Slurm and `timeout` send, unless the user handles it."""
        on_main_thread = threading.current_thread() is threading.main_thread()
        if on_main_thread and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._old_handler = signal.signal(signal.SIGTERM, self._terminated)

    def _terminated(self, number: int, _: Optional[FrameType]) -> None:
        session = self._session
        if session is not None and self._after_step is not None:
            self._after_step = None
            session.end("failed", session.end_sentence("The process was ended by SIGTERM"))
            self._unhook()
        os.kill(os.getpid(), number)  # the default action is back


def _forget(graphs: GraphCaptures, folder: Optional[str]) -> None:
    graphs.stop()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _last_line(session: Session) -> str:
    record = session.record
    rounds = record["measurement"].get("rounds", ())
    parts = [
        "fusionscope:",
        record["name"],
        "recorded" if record["status"] == "finished" else record["status"],
    ]
    if rounds:
        step_ms = (
            statistics.median(
                timed_round["wall_ns"] / timed_round["n_steps"] for timed_round in rounds
            )
            / 1e6
        )
        parts.append("({:.3f} ms per step, {} rounds)".format(step_ms, len(rounds)))
    parts.append("in {}".format(session.directory))
    if record["error"]:
        parts.append("– {}".format(record["error"]))
    return " ".join(parts)
