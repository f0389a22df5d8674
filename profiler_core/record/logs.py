"""The compiler's logs of one recording: the text of TORCH_LOGS, and the structured log.

Under `fusionscope run` both are on since torch was imported, and stderr is kept. Without it the
text is switched on when the Recorder starts (torch._logging.set_logs) and the structured log where
this torch's handler still accepts a folder; `missing` lists what could not be collected.
"""

from __future__ import annotations

import importlib
import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from profiler_core import run_directory as names
from profiler_core.capture.child.environment import log_names
from profiler_core.capture.handover import Handover
from profiler_core.capture.torch_settings import torch_logs, wanted_logs

_TRACE_LOGGER = "torch.__trace"
_BEFORE = (
    "The compiler's log begins with the Recorder: earlier compilations are not in it. Start the "
    "script with `fusionscope run -- …` to log all of them."
)
_NO_STRUCTURED = (
    "There is no structured log, so graphs, generated code and compile phases are not "
    "available. Start the script with `fusionscope run -- …`, with torch 2.4 or newer."
)
# How much of each file earlier Recorders of this process took.
_taken: Dict[str, int] = {}


class CompilerLogs:
    """Collects from `start` to `stop`; then torch logs as it did before.

    `switched_on` is the TORCH_LOGS value that the text log was set to by this object; None where
    the environment had set one.
    """

    def __init__(self, directory: Path, handover: Optional[Handover], is_only_rank: bool) -> None:
        self.switched_on: Optional[str] = None
        self._directory = directory
        # What the ranks write to one stderr is mixed line by line, so each keeps its own.
        can_copy = handover is not None and is_only_rank and handover.is_own_stderr()
        self._stderr = handover.stderr if handover is not None and can_copy else None
        self._handler: Optional[logging.Handler] = None
        self._restore: Optional[Tuple[Dict[str, Any], set[str]]] = None
        self._is_own_trace = False

    def start(self) -> None:
        """Begin to collect."""
        if not os.environ.get("TORCH_LOGS"):
            self._switch_on()
        if self._stderr is None:
            self._listen()
        self._start_trace()

    def stop(self) -> None:
        """Bring everything into the run directory, and leave torch's logging as it was."""
        if self._stderr is not None:
            for stream in (sys.stderr, sys.stdout):
                stream.flush()
            _append_rest(self._stderr, self._directory / names.TORCH_LOGS, keep=None)
        self._stop_trace()
        if self._handler is not None:
            for logger in _torch_loggers():
                logger.removeHandler(self._handler)
            self._handler.close()
        if self._restore is not None:
            _set_back(*self._restore)

    def missing(self, *, had_compiled: bool) -> List[str]:
        """A sentence for each thing that was not collected, of a process that compiles.

        Args:
            had_compiled: it did so before the Recorder started.
        """
        sentences = []
        if had_compiled and (self._stderr is None or not os.environ.get("TORCH_LOGS")):
            sentences.append(_BEFORE)
        if not list((self._directory / names.TORCH_TRACE).glob("*.log")):
            sentences.append(_NO_STRUCTURED)
        return sentences

    def files(self) -> List[Path]:
        """The collected files."""
        return [
            self._directory / names.TORCH_LOGS,
            *sorted((self._directory / names.TORCH_TRACE).glob("*.log")),
        ]

    # -- text -----------------------------------------------------------------------------------

    def _switch_on(self) -> None:
        import torch

        state = getattr(importlib.import_module("torch._logging._internal"), "log_state", None)
        before = (
            (dict(state.log_qname_to_level), set(state.artifact_names)) if state else ({}, set())
        )
        collected = wanted_logs(tuple(log_names()))
        levels = {name: logging.INFO if name == "dynamic" else True for name in collected}
        torch._logging.set_logs(modules=levels)
        self.switched_on = torch_logs(collected)
        self._restore = before
        for logger in _torch_loggers():
            for handler in logger.handlers:
                handler.setLevel(logging.WARNING)  # the terminal stays as it was

    def _listen(self) -> None:
        loggers = _torch_loggers()
        formatter = next((h.formatter for logger in loggers for h in logger.handlers), None)
        self._handler = logging.FileHandler(str(self._directory / names.TORCH_LOGS))
        self._handler.setFormatter(formatter)
        for logger in loggers:
            logger.addHandler(self._handler)

    # -- structured -----------------------------------------------------------------------------

    def _start_trace(self) -> None:
        if os.environ.get("TORCH_TRACE"):
            return
        internal = importlib.import_module("torch._logging._internal")
        handler = getattr(internal, "LOG_TRACE_HANDLER", None)
        if handler is None or getattr(handler, "root_dir", "") is not None or handler.stream:
            return
        handler.root_dir = str(self._directory / names.TORCH_TRACE)
        logger = logging.getLogger(_TRACE_LOGGER)
        if handler not in logger.handlers:  # it takes itself away where it has no folder
            logger.addHandler(handler)
        _forget_names()
        self._is_own_trace = True

    def _stop_trace(self) -> None:
        logger = logging.getLogger(_TRACE_LOGGER)
        if self._is_own_trace:
            handler = importlib.import_module("torch._logging._internal").LOG_TRACE_HANDLER
            handler.root_dir = None
            handler.close()
            logger.removeHandler(handler)
            return
        for handler in logger.handlers:
            stream = getattr(handler, "stream", None)
            path = Path(str(getattr(stream, "name", "")))
            if not path.is_file():
                path = Path(getattr(handler, "_stream_path", None) or os.devnull)
            if stream is not None and path.is_file():
                handler.flush()
                folder = self._directory / names.TORCH_TRACE
                folder.mkdir(exist_ok=True)
                # Interned names are written once and are numbers from then on.
                _append_rest(path, folder / path.name, keep=b'{"str": ')


def _forget_names() -> None:
    """Let torch write the names of files out again: an earlier Recorder's folder has them."""
    try:
        structured = importlib.import_module("torch._logging.structured")
    except ImportError:  # an older torch writes all names out
        return
    table = getattr(structured, "INTERN_TABLE", None)
    if isinstance(table, dict):
        table.clear()


def _append_rest(source: Path, target: Path, keep: Optional[bytes]) -> None:
    """Append the part of `source` that no earlier Recorder of this process has copied.

    Of the part that was copied before, only lines that hold `keep`; None: none of it.
    """
    offset = _taken.get(str(source), 0)
    with source.open("rb") as file, target.open("ab") as out:
        if keep is not None:
            while file.tell() < offset:
                line = file.readline()
                if keep in line:
                    out.write(line)
        file.seek(offset)
        shutil.copyfileobj(file, out, 1 << 20)
        _taken[str(source)] = file.tell()


def _torch_loggers() -> List[logging.Logger]:
    """The loggers of torch that have handlers; all others propagate to one of them."""
    loggers = []
    for name, logger in list(logging.root.manager.loggerDict.items()):
        is_torchs = name == "torch" or name.startswith("torch.")
        if not is_torchs or name == _TRACE_LOGGER or not isinstance(logger, logging.Logger):
            continue
        if logger.handlers and not logger.propagate:
            loggers.append(logger)
    return loggers


def _set_back(levels: Dict[str, Any], artifacts: set[str]) -> None:
    import torch

    torch._logging.set_logs()
    if levels or artifacts:  # the user's own, from before
        internal = importlib.import_module("torch._logging._internal")
        internal.log_state.log_qname_to_level.update(levels)
        internal.log_state.artifact_names.update(artifacts)
        internal._init_logs()
