"""Starts and stops the profiler of a running vLLM or SGLang, over its own HTTP routes.

Both have `POST /start_profile` and `POST /stop_profile`; SGLang's start takes JSON, vLLM's ignores
it. Redirects and proxies are not followed: what is asked is the address that was named, or nothing.
"""

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from profiler_core.errors import BadInput

_STARTS_WITHIN_S = 60.0
_LONGEST_ANSWER = 2_000  # bytes of what is quoted
_MISSING = (404, 405)
_SIGNED_OUT = (401, 403)
_HOW_TO_ENABLE = (
    'Start vLLM with --profiler-config \'{"profiler": "torch", "torch_profiler_dir": "/DIR"}\' '
    "(before 0.13: VLLM_TORCH_PROFILER_DIR=/DIR), or check the address (docs/servers.md)."
)


@dataclass(frozen=True)
class ProfiledServer:
    """A server at an address. key: of its API, where it asks for one."""

    url: str
    key: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is no address of a server.

        Raises:
            BadInput: it is none.
        """
        try:
            parts = urlsplit(self.url)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
            is_address &= parts.port is None or parts.port > 0
        except ValueError:
            is_address = False
        if not is_address or not self.url.isprintable() or " " in self.url:
            raise BadInput(
                f"{self.url[:200]!r} is no address of a server.",
                remedy="Write it like http://localhost:8000.",
            )
        if parts.username or parts.query or parts.fragment:
            raise BadInput(
                f"The address of {parts.hostname} holds more than scheme, host, port and path.",
                remedy="Leave name, password and whatever follows ? or # out.",
            )

    def start(self, options: Mapping[str, object]) -> None:
        """Start profiling.

        Args:
            options: of SGLang: output_dir, num_steps, activities, …

        Raises:
            BadInput: it does not answer, or not with yes.
        """
        self._post("/start_profile", options, _STARTS_WITHIN_S)

    def stop(self, within_s: float) -> None:
        """Stop it; the server writes its traces meanwhile, which takes minutes.

        Raises:
            BadInput: it does not answer in time, or not with yes.
        """
        self._post("/stop_profile", {}, within_s)

    def _post(self, path: str, options: Mapping[str, object], within_s: float) -> None:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            context = ssl.create_default_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                host, parts.port, timeout=within_s, context=context
            )
        else:
            connection = http.client.HTTPConnection(host, parts.port, timeout=within_s)
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        body = None
        if options:
            body, headers["Content-Type"] = json.dumps(options), "application/json"
        try:
            connection.request("POST", f"{parts.path.rstrip('/')}{path}", body, headers)
            response = connection.getresponse()
            status, answer = response.status, response.read(_LONGEST_ANSWER)
        except TimeoutError:
            raise BadInput(
                f"{self.url}{path} did not answer within {within_s:g} s.",
                remedy="Give it longer with --stop-timeout: it writes its traces meanwhile."
                if path == "/stop_profile"
                else "Look whether the server is up and not stuck.",
            ) from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise BadInput(
                f"{self.url} cannot be reached: {why}.", remedy="Check the address and the port."
            ) from None
        finally:
            connection.close()
        if status != http.client.OK:
            raise self._refusal(path, status, answer)

    def _refusal(self, path: str, status: int, answer: bytes) -> BadInput:
        lines = answer.decode("utf-8", "replace").strip().splitlines()
        reason = f": {lines[0][:200].rstrip('.')}" if lines else ""
        if status in _MISSING:
            return BadInput(
                f"{self.url} has no {path}: its profiler is not enabled, or it is no server of "
                f"vLLM or SGLang (status {status}).",
                remedy=_HOW_TO_ENABLE,
            )
        if status in _SIGNED_OUT:
            return BadInput(
                f"{self.url} does not let {path} be called (status {status}){reason}.",
                remedy="Name the variable that holds its key with --key-variable.",
            )
        return BadInput(
            f"{self.url}{path} answered with status {status}{reason}.",
            remedy="Where it is profiled already, wait, or stop it by hand: "
            f"curl -X POST {self.url}/stop_profile.",
        )
