"""`python server.py ADDRESS OWNER`: import torch, then fork for each script that a client names.

It has one thread, and none of torch's has begun. It ends with the process OWNER.
"""

import array
import atexit
import contextlib
import fcntl
import gc
import json
import os
import random
import runpy
import select
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path

import numpy
import torch
import torch._dynamo
import torch._inductor.compile_fx
from torch._logging import _internal

HOOK = str(Path(__file__).resolve().parent / "hook")
# Read when they are imported, so a script with other values needs an interpreter of its own …
READ_AT_IMPORT = ("TORCH", "PYTORCH", "INDUCTOR", "TRITON", "OMP_", "MKL_", "KMP_", "LD_", "ATEN")
# … except for these, which are read later or below.
THREADS = "TORCHINDUCTOR_COMPILE_THREADS"
READ_LATER = {
    "TORCH_LOGS", "TORCH_TRACE", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", THREADS,
}  # fmt: skip


def settings(environment):
    """What the imported modules have read."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(READ_AT_IMPORT) and name not in READ_LATER
    }


OWN_SETTINGS = settings(os.environ)


class Request:
    """A script to run: its words, environment, folder and open files."""

    def __init__(self, connection):
        header, ancillary, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(4 * 250))
        self.received = array.array("i")
        for _, kind, data in ancillary:
            if kind == socket.SCM_RIGHTS:
                self.received.frombytes(data[: len(data) - len(data) % 4])
        missing = int.from_bytes(header, "big")
        data = b""
        while len(data) < missing:
            piece = connection.recv(missing - len(data))
            if not piece:
                raise ConnectionError("the client is gone")
            data += piece
        request = json.loads(data)
        self.argv, self.cwd = request["argv"], request["cwd"]
        self.environment, self.numbers = request["env"], request["fds"]

    @property
    def packages(self):
        """Further folders to import from."""
        entries = self.environment.get("PYTHONPATH", "").split(os.pathsep)
        return [entry for entry in entries if entry not in ("", HOOK)]

    @property
    def is_served(self):
        """Would a new interpreter have imported the same?"""
        if any((Path(folder) / "torch.py").exists() for folder in self.packages):
            return False
        is_probe = self.argv[0].endswith("probe.py")  # compiles nothing
        return is_probe or settings(self.environment) == OWN_SETTINGS

    def become(self):
        """Make this process the one that the client wants."""
        os.setsid()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 500) for fd in self.received]
        for fd in self.received:
            os.close(fd)
        for fd, number in zip(high, self.numbers, strict=True):
            os.dup2(fd, number, inheritable=number < 3)
            os.close(fd)
        os.chdir(self.cwd)
        os.environ.clear()
        os.environ.update(self.environment)
        sys.argv[:] = self.argv
        sys.path[0] = str(Path(self.argv[0]).parent)
        sys.path[1:1] = self.packages
        random.seed()
        numpy.random.seed()
        _internal.LOG_TRACE_HANDLER = None
        _internal._init_logs()
        if THREADS in self.environment:
            torch._inductor.config.compile_threads = int(self.environment[THREADS])


def run(script):
    """Run it as `python SCRIPT` does; returns its exit status."""
    status = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, int) or end.code is None:
            status = end.code or 0
        else:
            print(end.code, file=sys.stderr)
            status = 1
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status & 0xFF


def serve(listener, owner):
    clients = {}  # the socket of each script that runs -> its process
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([listener, owner, woken, *clients], [], [])
        if owner in ready:
            for pid in clients.values():
                end(pid)
            return None
        if woken in ready:
            os.read(woken, 4096)
            for connection, pid in [*clients.items()]:
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    end_group(pid)  # whatever it has left behind
                    tell(connection, status.to_bytes(4, "big"))
                    del clients[connection]
        for connection in [c for c in ready if c in clients]:
            end(clients[connection])  # nobody waits for it any more
        if listener in ready:
            connection, _ = listener.accept()
            try:
                request = Request(connection)
            except (OSError, ValueError):
                connection.close()
                continue
            if not request.is_served:
                tell(connection, b"real")
            else:
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for fd in (woken, wake, owner, *(c.detach() for c in (*clients, connection))):
                        os.close(fd)
                    listener.close()
                    return request
                clients[connection] = pid
            for fd in request.received:
                os.close(fd)


def end(pid):
    end_group(pid)
    os.kill(pid, signal.SIGKILL)  # it may not lead its group yet


def end_group(pid):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def tell(connection, answer):
    with contextlib.suppress(OSError):
        connection.send(answer)
    connection.close()


def main():
    owner = os.pidfd_open(int(sys.argv[2]))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + sys.argv[1])
        gc.collect()
        gc.freeze()
        listener.listen(64)
        if os.fork() > 0:
            os._exit(0)  # who waited for this can connect now
        request = serve(listener, owner)
    if request is not None:
        request.become()
        os._exit(run(request.argv[0]))


if __name__ == "__main__":
    main()
