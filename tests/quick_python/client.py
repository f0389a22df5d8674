"""The program: `python SCRIPT WORD…`, by a server that has imported a lot or by itself."""

import _signal
import _socket  # the modules around these take longer to import than the rest to run
import json
import os
import sys

REAL = "<real>"  # the interpreter
OWNER = "<owner>"  # the process of the tests
SERVER, FOLDER, ENVIRONMENT = "<server>", "<folder>", "<environment>"
SCRIPTS = ("/capture/child/main.py", "/capture/child/probe.py", "/record/scripts/train.py",
           "/record/scripts/endings.py", "/capture/workloads/rank_checks.py",
           "/docs/examples/train_huggingface.py", "/docs/examples/train_lightning.py",
           "/docs/examples/train_accelerate.py")  # fmt: skip
# Not what leaves a process behind: a fork's whole group ends with it.
OURS = (
    "profiler_core", "profiler_core.agents.answering", "profiler_core.cli", "profiler_core.ingest",
    "profiler_core.ingest.memory_snapshot", "profiler_core.ranks", "profiler_core.ranks.hta",
    "profiler_core.store.history", "profiler_core.store.history.pushed",
    "profiler_core.store.judging", "profiler_core.store.uploads", "streamlit",
)  # fmt: skip


WORDS = sys.argv[1:]
if WORDS[:1] == ["-u"]:  # torchrun's; stdout is that of the server, which has no buffer
    del WORDS[0]


def server_module(words):
    """What the server of these words has imported; None: a new interpreter runs them."""
    if words and words[0].endswith(SCRIPTS):
        return "with_torch"
    if len(words) > 1 and words[0] == "-m" and words[1] in OURS:
        return "with_ours"
    if len(words) > 1 and words[0] == "-c" and "from profiler_core." in words[1]:
        return "with_ours"
    return None


MODULE = server_module(WORDS)
# Where the server listens, with a zero byte before it.
ADDRESS = "fusionscope-tests-" + OWNER + "-" + str(MODULE)


def start():
    """Start the server, unless another has meanwhile; its first process ends when it listens."""
    import fcntl
    import subprocess

    with open(FOLDER + "/" + MODULE, "w") as lock, open(FOLDER + "/log.txt", "ab") as log:  # noqa: PTH123
        fcntl.flock(lock, fcntl.LOCK_EX)
        probe = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        if probe.connect_ex("\0" + ADDRESS) != 0:
            # Nothing of the capture: what carries its marks is ended with it.
            mine = ("FUSIONSCOPE", "TORCH", "PYTHONPATH")
            keys = {k: v for k, v in os.environ.items() if not k.startswith(mine)}
            subprocess.run(
                [REAL, SERVER, ADDRESS, OWNER, MODULE, str(lock.fileno())],
                pass_fds=(lock.fileno(),),  # held until it listens, even if this is killed before
                env={**keys, **ENVIRONMENT},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                check=True,
            )
        probe.close()


def served():
    """The wait status of the script in a process of the server's; None: it does not take it."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    if connection.connect_ex("\0" + ADDRESS) != 0:
        start()
        connection.connect("\0" + ADDRESS)
    mine = connection.fileno()
    fds = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - pathlib takes as long as torch's fork
        fd = int(name)
        try:
            if fd != mine and (fd < 3 or os.get_inheritable(fd)):
                fds.append(fd)
        except OSError:
            continue  # of the listing itself
    request = {"argv": WORDS, "env": dict(os.environ), "cwd": os.getcwd(), "fds": fds}  # noqa: PTH109
    data = json.dumps(request).encode()
    packed = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
    connection.sendmsg(
        [len(data).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)]
    )
    while data:
        data = data[connection.send(data) :]
    if MODULE == "with_ours":  # a dashboard ends in its own way
        for number in (_signal.SIGINT, _signal.SIGTERM):
            _signal.signal(number, lambda number, _: connection.send(bytes([number])))
    answer = connection.recv(4)
    return int.from_bytes(answer, "big") if len(answer) == 4 and answer != b"real" else None


status = served() if MODULE else None
if status is None:
    os.execv(REAL, [REAL, *sys.argv[1:]])
if os.WIFSIGNALED(status):
    if os.WTERMSIG(status) != _signal.SIGKILL:
        _signal.signal(os.WTERMSIG(status), _signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))
os._exit(os.WEXITSTATUS(status))
