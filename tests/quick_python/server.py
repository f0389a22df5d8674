"""`python server.py ADDRESS OWNER MODULE LOCK`: import MODULE, then fork for each client.

It has one thread, and the libraries' have not begun. It ends with the process OWNER.
"""

import array
import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import os
import random
import runpy
import select
import signal
import socket
import sys
import threading
import time
import traceback
import types
from pathlib import Path

HOOK = str(Path(__file__).resolve().parent / "hook")


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
        time.tzset()
        random.seed()
        sys.modules["numpy"].random.seed()


def run():
    """Run `sys.argv` as `python SCRIPT`, `-m MODULE` and `-c CODE` do; returns the exit status."""
    status = 0
    try:
        if sys.argv[0] == "-m":
            module = sys.argv[1]
            del sys.argv[0]
            if not hasattr(sys.modules.get(module), "__path__"):
                sys.modules.pop(module, None)
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        elif sys.argv[0] == "-c":
            code = compile(sys.argv.pop(1), "<string>", "exec")
            sys.modules["__main__"] = types.ModuleType("__main__")
            exec(code, sys.modules["__main__"].__dict__)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, int) or end.code is None:
            status = end.code or 0
        else:
            print(end.code, file=sys.stderr)
            status = 1
    except BaseException as error:
        traceback.print_exc()
        status = 1
        if isinstance(error, KeyboardInterrupt):
            sys.stderr.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status & 0xFF


def serve(listener, owner, is_served):
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
            with contextlib.suppress(ConnectionError):
                if sent := connection.recv(1):
                    os.kill(clients[connection], sent[0])  # a signal
                    continue
            end(clients[connection])  # nobody waits for it any more
        if listener in ready:
            connection, _ = listener.accept()
            try:
                request = Request(connection)
            except (OSError, ValueError):
                connection.close()
                continue
            if not is_served(request):
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
    imported = importlib.import_module(sys.argv[3])
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + sys.argv[1])
        gc.collect()
        gc.freeze()
        listener.listen(64)
        os.close(int(sys.argv[4]))  # the lock: others may connect
        if os.fork() > 0:
            os._exit(0)  # who waited for this can connect now
        request = serve(listener, owner, imported.is_served)
    if request is not None:
        request.become()
        imported.prepare(request)
        os._exit(run())


if __name__ == "__main__":
    main()
