"""One run directory while it is made: run.json by atomic rename, and the heartbeat beside it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

from profiler_core import run_directory as names
from profiler_core.capture.full_disk import is_full

_BEAT_EVERY_S = 1.0
_RESERVE = ".reserve"  # room for the last run.json, where the disk is full by then
_RESERVE_BYTES = 4 << 20  # step times come by the ten thousand


class RunWriter:
    """Keys of run.json as docs/run_directory.md lists them; measured values come piece by piece."""

    def __init__(self, directory: Path, record: dict[str, Any]) -> None:
        self.directory = directory
        self.record: dict[str, Any] = {
            "schema_version": names.SCHEMA_VERSION,
            "rank": 0,
            "world_size": 1,
            **record,
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "status": "running",
            "error": None,
            "error_kind": None,
            "compile_failure": None,
            "sweep": record.get("sweep"),
            "environment": {},
            "measurement": {
                "pid": os.getpid(),
                "host": socket.gethostname(),
                "process_started_at": process_started_at(os.getpid()),
            },
            "numerics": None,
        }
        directory.mkdir(parents=True, exist_ok=True)
        self.write()

    @property
    def measurement(self) -> dict[str, Any]:
        """`measurement` of run.json, to be filled."""
        measurement: dict[str, Any] = self.record["measurement"]
        return measurement

    def note(self, sentence: str | None) -> None:
        """Keep a sentence about the measurement; nothing for None or ""."""
        if sentence:
            self.measurement.setdefault("notes", []).append(sentence)

    def spent(self, phase: str, started: float) -> None:
        """Add the time of a phase, begun at `started` of the monotonic clock."""
        seconds = self.measurement.setdefault("phase_seconds", {})
        seconds[phase] = round(seconds.get(phase, 0.0) + time.monotonic() - started, 3)

    def write(self) -> None:
        """Replace run.json; a reader sees the old one or the new one.

        Raises:
            OSError: it cannot be written; `end` still can where the disk is full.
        """
        if self.record["status"] == "running":
            _reserve(self.directory / _RESERVE)
        write_json(self.directory / names.RUN_JSON, self.record)

    def beat(self) -> None:
        """Touch the heartbeat."""
        (self.directory / names.HEARTBEAT).touch()

    def end(self, status: str, error: str | None = None, error_kind: str | None = None) -> None:
        """Write the final status and remove the heartbeat."""
        self.record["status"] = status
        self.record["error"] = error
        self.record["error_kind"] = error_kind
        try:
            self.write()
        except OSError as error:
            if not is_full(error):
                raise
            _write_reserved(self.directory / _RESERVE, self.directory / names.RUN_JSON, self.record)
        (self.directory / _RESERVE).unlink(missing_ok=True)
        (self.directory / names.HEARTBEAT).unlink(missing_ok=True)


class Heartbeat:
    """Touches the heartbeats of all runs that are still going, once a second, in a thread."""

    def __init__(self, runs: list[RunWriter]) -> None:
        self._runs = runs
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for run in self._runs:  # a beat may have come after the final status
            if run.record["status"] != "running":
                (run.directory / names.HEARTBEAT).unlink(missing_ok=True)

    def _beat(self) -> None:
        while True:
            for run in self._runs:
                if run.record["status"] == "running":
                    run.beat()
            if self._stop.wait(_BEAT_EVERY_S):
                return


def write_json(path: Path, value: Any) -> None:
    """Write JSON by atomic rename; one line, for step times come by the ten thousand."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(value) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)  # half a file takes room that is not there
        raise


def _reserve(path: Path) -> None:
    """Take the room for the last run.json now; without any the run goes on as it is."""
    with contextlib.suppress(OSError, AttributeError):  # no such call on macOS
        if not path.exists():
            with path.open("xb") as file:
                os.posix_fallocate(file.fileno(), 0, _RESERVE_BYTES)


def _write_reserved(reserve: Path, path: Path, value: Any) -> None:
    """`write_json` into room that is this run's already: nobody else can take it meanwhile."""
    with reserve.open("r+b") as file:
        file.write(json.dumps(value).encode() + b"\n")
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    reserve.replace(path)


def process_started_at(pid: int) -> float:
    """When the process began, s since the epoch; tells a pid from its later reuse."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
            if line.startswith("btime "):
                # proc(5): starttime is field 22, the 20th after the name.
                return int(line.split()[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        pass
    return time.time()
