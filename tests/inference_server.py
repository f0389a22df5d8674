"""The profiler's routes of an inference server, as vLLM and SGLang have them."""

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TRACE = Path(__file__).resolve().parent / "fixtures" / "kineto" / "plain.json"
CAPTURES = "capture_traces"


class InferenceServer:
    """What it was asked, and how it answers.

    kind: "vllm", whose routes are there only where a profiler is configured, or "sglang".
    folder: it writes there. is_enabled: of vLLM. stays_empty: it writes nothing.
    answers_after_s: how long stopping takes. key: that it wants.
    """

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        self.is_enabled = True
        self.stays_empty = False
        self.is_profiling = False
        self.answers_after_s = 0.0
        self.key = ""
        self.asked: list[tuple[str, object]] = []
        self.url = ""

    def post(self, path: str, body: bytes, key: str) -> tuple[int, str]:
        """Status and text of an answer."""
        if path not in ("/start_profile", "/stop_profile") or not self.is_enabled:
            return 404, '{"detail":"Not Found"}'
        if self.key and key != f"Bearer {self.key}":
            return 401, '{"error":"Unauthorized"}'
        options = json.loads(body) if body else {}
        self.asked.append((path, options))
        if path == "/start_profile":
            if self.is_profiling:
                return 400, "Profiling is already in progress. Call /stop_profile first.\n"
            self.is_profiling = True
            if self.kind == "sglang":
                self.folder = Path(options.get("output_dir", self.folder))
                if "num_steps" in options:
                    threading.Timer(0.2, self.write).start()
            return 200, "Start profiling.\n" if self.kind == "sglang" else ""
        if not self.is_profiling:
            return 500, "Internal Server Error"
        time.sleep(self.answers_after_s)
        self.write()
        return 200, "Stop profiling. This will take some time.\n" if self.kind == "sglang" else ""

    def write(self) -> None:
        """The traces, by the names that the server gives them."""
        self.is_profiling = False
        if self.stays_empty:
            return
        self.folder.mkdir(exist_ok=True)
        if self.kind == "sglang":
            shutil.copy(TRACE, self.folder / f"{time.time()}-TP-0.trace.json")
            return
        shutil.copy(TRACE, self.folder / "dp0_pp0_tp0_rank0.1763.pt.trace.json")
        shutil.copy(TRACE, self.folder / "box_7.async_llm.1763.pt.trace.json")
        (self.folder / "profiler_out_0.txt").write_text("a table")


@contextmanager
def running(kind: str, folder: Path) -> Iterator[InferenceServer]:
    """A server on a free port; it ends with the block."""
    server = InferenceServer(kind, folder)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, text = server.post(self.path, body, self.headers.get("Authorization", ""))
            data = text.encode()
            self.send_response(status)
            if status in (301, 302):
                self.send_header("Location", text)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing to the terminal."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.handle_error = lambda *_: None  # type: ignore[method-assign] # who asked has gone
    server.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
