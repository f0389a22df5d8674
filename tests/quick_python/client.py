"""The program: `python SCRIPT WORD…`, by the server that has imported torch or by itself."""

import _socket  # the module around it takes longer to import than the rest to run
import json
import os
import sys

ADDRESS = "\0<address>"  # where the server listens
REAL = "<real>"  # the interpreter
SCRIPTS = ("/capture/child/main.py", "/capture/child/probe.py")


def served():
    """The wait status of the script in a process of the server's; None: it does not take it."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(ADDRESS)
    except OSError:
        return None
    mine = connection.fileno()
    fds = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib takes as long as torch's fork
        fd = int(name)
        try:
            if fd != mine and (fd < 3 or os.get_inheritable(fd)):
                fds.append(fd)
        except OSError:
            continue  # of the listing itself
    request = {"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "fds": fds}  # noqa: PTH109
    data = json.dumps(request).encode()
    packed = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
    connection.sendmsg(
        [len(data).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)]
    )
    while data:
        data = data[connection.send(data) :]
    answer = connection.recv(4)
    return int.from_bytes(answer, "big") if len(answer) == 4 and answer != b"real" else None


status = served() if len(sys.argv) > 1 and sys.argv[1].endswith(SCRIPTS) else None
if status is None:
    os.execv(REAL, [REAL, *sys.argv[1:]])
if os.WIFSIGNALED(status):
    os.kill(os.getpid(), os.WTERMSIG(status))
os._exit(os.WEXITSTATUS(status))
