"""What sessions cost the web process in memory, and what it gives back when they close.

    python -m benchmarks.bench_sessions [--home DIR] [--sessions 1 20 50]

Each session is a websocket that asks for *Overview* and *Fusion* of a sample as a browser does, and
for both of the large pair where `--home` holds one (benchmarks.bench_pages makes it). A browser
itself would cost the machine far more than the server does. Memory is that of the web process
alone: `private` is without what it shares with others and with files, so without mapped columns.
"""

import argparse
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from benchmarks.bench_pages import LARGE, ROOT, until_quiet, web_process
from tests.browser.conftest import Server, signed_in_state

_PAGES = ("", "fusion")
_PATIENCE_S = 300.0
# Streamlit keeps a session for two minutes, should its browser come back.
_AFTER_S = (30.0, 150.0)


def main() -> None:
    """Print a table of sessions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, nargs="*", default=[1, 20, 50])
    parser.add_argument("--home", type=Path, help="with the large pair of bench_pages")
    arguments = parser.parse_args()
    after = " | ".join(f"{after_s:.0f} s after they closed" for after_s in _AFTER_S)
    print(f"| sessions | idle: private MB (all) | all open | {after} | most at a time |")
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        home = arguments.home or Path(scratch) / "home"
        home.mkdir(parents=True, exist_ok=True)
        for n_sessions in arguments.sessions:
            print(f"| {n_sessions} | {' | '.join(_measured(home, n_sessions))} |", flush=True)


def _measured(home: Path, n_sessions: int) -> list[str]:
    choices = _choices(home)
    with web_process(home) as (server, process):
        until_quiet(process)
        cells = [_memory(process)]
        sessions = []
        for number in range(n_sessions):
            session = _open(server, home)
            sessions.append(session)
            for runs in (choices[number % len(choices)], *choices[len(_samples()) :]):
                for page in _PAGES:
                    _ask(session, page, runs)
        cells.append(_memory(process))
        for session in sessions:
            session.close()
        closed = time.monotonic()
        for after_s in _AFTER_S:
            time.sleep(max(0.0, closed + after_s - time.monotonic()))
            cells.append(_memory(process))
        peak = Path(f"/proc/{process.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
    return [*cells, f"{int(peak) / 1e3:.0f}"]


def _samples() -> list[dict[str, str]]:
    folders = sorted(path for path in (ROOT / "sample_traces").iterdir() if path.is_dir())
    return [
        {"baseline": f"sample/{folder.name}/eager", "candidate": f"sample/{folder.name}/default"}
        for folder in folders
        if (folder / "eager").is_dir() and (folder / "default").is_dir()
    ]


def _choices(home: Path) -> list[dict[str, str]]:
    """The samples, then the large pair."""
    large = {"baseline": f"run/{LARGE}/eager", "candidate": f"run/{LARGE}/default"}
    return [*_samples(), *([large] if (home / "runs" / LARGE).is_dir() else [])]


def _open(server: Server, home: Path) -> ClientConnection:
    cookie = signed_in_state(home)["cookies"][0]
    return connect(
        f"ws{server.url.removeprefix('http')}/_stcore/stream",
        origin=server.url,  # type: ignore[arg-type]
        subprotocols=["streamlit"],  # type: ignore[list-item]
        additional_headers={"Cookie": f"{cookie['name']}={cookie['value']}"},
        max_size=None,
    )


def _ask(session: ClientConnection, page: str, runs: dict[str, str]) -> None:
    """Have a page's script run, and wait for its end."""
    message = BackMsg()
    message.rerun_script.query_string = urlencode(runs)
    message.rerun_script.page_name = page
    session.send(message.SerializeToString())
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        answer = ForwardMsg()
        data = session.recv(timeout=max(0.1, deadline - time.monotonic()))
        answer.ParseFromString(data if isinstance(data, bytes) else data.encode())
        kind = answer.WhichOneof("type")
        if kind == "delta" and answer.delta.new_element.WhichOneof("type") == "exception":
            raise RuntimeError(answer.delta.new_element.exception.message)
        if kind == "script_finished":
            return


def _memory(process: psutil.Process) -> str:
    memory = process.memory_info()
    return f"{(memory.rss - memory.shared) / 1e6:.0f} ({memory.rss / 1e6:.0f})"


if __name__ == "__main__":
    main()
