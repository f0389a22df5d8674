"""One child process: started by file path, controlled over two pipes, ended with the capture."""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from profiler_core.capture.interpreter import CHILD
from profiler_core.capture.pipes import inherited_pipes, named_pipes
from profiler_core.capture.torch_settings import MARKER

_LOOK_EVERY_S = 0.1
_EXIT_GRACE_S = 5.0
_CRASH_BYTES = 20_000  # of the end of the log, where faulthandler writes
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (\S+)$', re.MULTILINE)


class ChildFailure(Exception):
    """The child failed at a command, or died. kind: stated, memory, compile, user, killed.

    compile_failure: of the kind "compile", the keys of `model.run.CompileDiagnosis`.
    """

    def __init__(
        self,
        kind: str,
        problem: str,
        remedy: str,
        compile_failure: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{problem} {remedy}")
        self.compile_failure = compile_failure
        self.kind = kind
        self.sentence = f"{problem} {remedy}".strip()


class Child:
    """A process that serves commands.

    Args:
        python: the interpreter.
        spec: what `child/serve.py` wants, without the pipes.
        environment: all of its environment variables; the marker is added.
        folder: spec.json is written there, and removed at the end.
        stdout: gets what the user's code prints (appended).
        stderr: gets torch's logs and tracebacks (appended).
        look: called often while waiting; raises to cancel.
        under: a profiler with its arguments, which starts the interpreter; empty: nothing does.
    """

    def __init__(
        self,
        python: str,
        spec: dict[str, Any],
        environment: dict[str, str],
        folder: Path,
        stdout: Path,
        stderr: Path,
        look: Callable[[], None],
        under: Sequence[str] = (),
    ) -> None:
        self._look = look
        self._marker = uuid.uuid4().hex
        self._spec_path = folder / f"child-{self._marker}.json"
        self._pipes = named_pipes(folder, self._marker) if under else inherited_pipes()
        on_main_thread = threading.current_thread() is threading.main_thread()
        self._spec_path.write_text(
            json.dumps(
                {
                    **spec,
                    **self._pipes.spec_keys,
                    # The kernel means the thread that started the child, not the process; under a
                    # profiler that is one of its own.
                    "die_with_parent": on_main_thread and not under,
                }
            ),
            encoding="utf-8",
        )
        try:
            with stdout.open("ab") as out, stderr.open("ab") as err:
                self._process = subprocess.Popen(
                    [*under, python, str(CHILD / "main.py"), str(self._spec_path)],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env={**environment, MARKER: self._marker},
                    pass_fds=self._pipes.passed,
                    start_new_session=True,
                )
        except OSError:
            self._pipes.started()
            self._leave_no_files()
            raise
        self._pipes.started()
        self._is_closed = False
        self._buffer = b""
        self._is_asked_to_leave = False
        self._stderr = stderr
        self._asked: list[str] = []  # commands that are not answered yet
        self._doing = "starting"

    @property
    def pid(self) -> int:
        """Its process id, which is its session's too."""
        return self._process.pid

    def ask(
        self, command: str, progress: Callable[[dict[str, Any]], None] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Send a command and wait for its result.

        Raises:
            ChildFailure: the command failed, or the child died.
        """
        self.tell(command, **fields)
        return self.answer(progress)

    def tell(self, command: str, **fields: Any) -> None:
        """Send a command; `answer` waits for its result."""
        self._asked.append(command)
        line = json.dumps({"command": command, **fields}) + "\n"
        try:
            os.write(self._pipes.command_fd, line.encode())
        except BrokenPipeError:
            raise self._death() from None

    def answer(self, progress: Callable[[dict[str, Any]], None] | None = None) -> dict[str, Any]:
        """Wait for the result of the last command."""
        while True:
            self._look()
            result = self.poll(_LOOK_EVERY_S, progress)
            if result is not None:
                return result

    def answers(
        self, progress: Callable[[dict[str, Any]], None] | None = None
    ) -> list[dict[str, Any]]:
        """The answer of the last command, as a group of ranks has several."""
        return [self.answer(progress)]

    def poll(
        self, seconds: float, progress: Callable[[dict[str, Any]], None] | None = None
    ) -> dict[str, Any] | None:
        """The result of the last command, if it comes within so many seconds of the last event."""
        while (event := self._event_within(seconds)) is not None:
            if event["event"] in ("done", "failed"):
                self._doing = self._asked.pop(0)
            if event["event"] == "done":
                result: dict[str, Any] = event["result"]
                return result
            if event["event"] == "failed":
                raise ChildFailure(
                    event["kind"], event["problem"], event["remedy"], event.get("compile_failure")
                )
            if progress is not None:
                progress(event)
        return None

    def has_ended(self, within_s: float) -> bool:
        """Whether the process ends within `within_s` seconds, for whatever reason."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        return self._process.returncode is not None

    def leave(self) -> None:
        """Ask it to leave; `close` waits for that."""
        if self._process.poll() is None and not self._is_asked_to_leave:
            self._is_asked_to_leave = True
            with contextlib.suppress(BrokenPipeError):
                os.write(self._pipes.command_fd, b'{"command": "exit"}\n')

    def close(self) -> None:
        """Ask it to leave, then end it and every process that it started."""
        self.leave()
        # Whoever does not leave by itself is ended below.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_GRACE_S)
        self.kill()

    def kill(self) -> None:
        """End it now, with its compile workers and whatever the user's code started."""
        if self._is_closed:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        strays = marked_processes(self._marker)
        for pid in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _wait_until_gone(strays, _EXIT_GRACE_S)
        self._leave_no_files()
        self._is_closed = True

    def _leave_no_files(self) -> None:
        self._pipes.close()
        self._spec_path.unlink(missing_ok=True)

    def _event_within(self, seconds: float) -> dict[str, Any] | None:
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._pipes.event_fd], [], [], seconds)
            if not ready:
                # A process of the user's may keep the pipe open after the child's death.
                if self._process.poll() is not None:
                    raise self._death()
                return None
            data = os.read(self._pipes.event_fd, 1 << 16)
            if not data:
                raise self._death()
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        event: dict[str, Any] = json.loads(line)
        return event

    def _death(self) -> ChildFailure:
        try:
            status = self._process.wait(_EXIT_GRACE_S)
        except subprocess.TimeoutExpired:
            status = None
        doing = (self._asked[0] if self._asked else self._doing).replace("_", " ")
        if status is not None and status < 0:
            name = _signal_name(-status)
            why = (
                "Free memory or use a smaller batch: the system kills when memory runs out."
                if -status == signal.SIGKILL
                else "See the end of torch_logs.txt."
            )
            line = _crashed_at(self._stderr)
            return ChildFailure(
                "killed", f"The process was killed by {name} during: {doing}{line}.", why
            )
        last = _last_line(self._stderr)
        return ChildFailure(
            "killed",
            f"The process ended with status {status} during: {doing}{f': {last}' if last else ''}.",
            "See the end of torch_logs.txt.",
        )


def marked_processes(marker: str) -> list[int]:
    """Processes whose environment carries the marker: also those that left the session (Linux)."""
    if sys.platform != "linux":
        return []
    variable = f"{MARKER}={marker}".encode()
    pids = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if variable in (entry / "environ").read_bytes().split(b"\0"):
                pids.append(int(entry.name))
        except OSError:
            continue  # somebody else's, or gone meanwhile
    return pids


def _wait_until_gone(pids: list[int], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while pids and time.monotonic() < deadline:
        pids = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        if pids:
            time.sleep(0.02)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _crashed_at(log: Path) -> str:
    """(file.py, line 3, in f): the user's innermost line that faulthandler wrote; or nothing."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _CRASH_BYTES))
        _, crashed, stack = file.read().decode(errors="replace").rpartition("Fatal Python error:")
    frames = [
        (Path(path), line, function) for path, line, function in _FRAME.findall(stack) if crashed
    ]
    own = [frame for frame in frames if not _is_installed(frame[0])]
    return " ({.name}, line {}, in {})".format(*own[0]) if own else ""


def _is_installed(path: Path) -> bool:
    """Is it of a package, of Python itself, or of this child?"""
    return path.is_relative_to(CHILD) or any(part.startswith("python3") for part in path.parts)


def _last_line(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4000))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
    return next((line.rstrip(".")[:300] for line in reversed(lines) if line), "")
