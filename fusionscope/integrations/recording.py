"""What all trainers share: a `Recorder` that begins with the first step, not with the trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, Optional

from profiler_core.record import Recorder


class StepRecording:
    """Passes the beginnings and ends of a trainer's steps on to a `Recorder`.

    Args:
        options: those of `Recorder`; what the trainer knows is filled in where it is left out.
    """

    def __init__(self, options: Dict[str, Any]) -> None:
        self._options = options
        self._recorder: Optional[Recorder] = None
        self._is_paused = False
        self.directory: Optional[Path] = None  # of the newest run, once its first step has begun

    @property
    def recorder(self) -> Optional[Recorder]:
        """The Recorder, once the first step has begun."""
        return self._recorder

    def begin_step(self, facts: Callable[[], Dict[str, Any]]) -> None:
        """A step begins: starts the recording, or goes on after `pause`.

        Args:
            facts: asked once for the options of `Recorder` that the trainer knows; those of the
                user have precedence.
        """
        if self._recorder is None:
            self._recorder = Recorder(**{**facts(), **self._options})
            self._recorder.start()
            self.directory = self._recorder.directory
        elif self._is_paused:
            self._is_paused = False
            self._recorder.resume()

    def end_step(self) -> None:
        """A step has ended: its optimizer has been stepped."""
        if self._recorder is not None:
            self._recorder.step()

    def pause(self) -> None:
        """What follows is no step, until the next one begins."""
        if self._recorder is not None and not self._is_paused:
            self._is_paused = True
            self._recorder.pause()

    def close(self, error: Optional[BaseException] = None) -> None:
        """Training has ended; the next one begins another recording."""
        recorder, self._recorder, self._is_paused = self._recorder, None, False
        if recorder is not None:
            recorder.close(error)


def variant_of(model: Any, mode: Optional[str] = None, backend: Optional[str] = None) -> str:
    """The variant's name for how a model is compiled.

    Args:
        model: asked for `torch.compile`'s wrapper, or `compile()`d in place, if `mode` is None.
        mode: of torch.compile, where the trainer compiles.
        backend: of torch.compile; Inductor where it is None.

    Returns:
        "eager", "default", a mode, or "backend:NAME", as `capture` calls them.
    """
    if mode is None and backend is None:
        # The wrapper of torch.compile(), what module.compile() sets, what Lightning keeps of it.
        marks = ("_orig_mod", "_compiled_call_impl", "_compiler_ctx")
        is_compiled = any(getattr(model, mark, None) is not None for mark in marks)
        return "default" if is_compiled else "eager"
    if backend in (None, "inductor"):
        return mode or "default"
    return "backend:{}".format(backend)


def name_of(model: Any) -> str:
    """The class of a model, below what torch.compile and parallel wrappers put around it."""
    for wrapped in ("_orig_mod", "module"):
        model = getattr(model, wrapped, model)
    return type(model).__name__
