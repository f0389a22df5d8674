"""The web server's log: its format by the settings, and who and what each line is about."""

import hashlib
import logging
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config
from streamlit.runtime.scriptrunner_utils.script_run_context import get_script_run_ctx

from profiler_core.errors import BadInput
from profiler_core.operate import log, secret_words
from profiler_core.page_specs import RUN_PARAMETERS
from profiler_core.person import account
from profiler_core.settings import settings

_HEADER = "X-Request-ID"
_REQUEST_ID = re.compile(r"[A-Za-z0-9-]{8,64}")  # of a proxy; anything else could forge a line
_MOST_RUNS, _LONGEST_RUN = 10, 300  # the address may hold anything

_log = logging.getLogger(__name__)


def configure() -> None:
    """As the settings say; text where they cannot be used."""
    # The files that Streamlit was told to read, for what must not reach the log.
    paths = [path for path in config.get_option("secrets.files") if os.path.isfile(path)]  # noqa: PTH113
    if paths:
        secret_words.watch(*map(Path, paths))
    problem = None
    try:
        log_format: str = settings().log_format
    except BadInput as error:
        log_format, problem = "text", error
    log.configure_server(log_format)
    log.add_source(_of_script_run)
    # Streamlit gives each logger that it makes later a format of its own.
    streamlit.logger.setup_formatter = log.let_root_write
    if problem is not None:
        _log.error("The server's log stays text: %s", problem.problem)


def _of_script_run() -> Mapping[str, str]:
    """Who runs which page with which runs; nothing outside of a page's script."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return {}
    query = parse_qs(context.query_string)
    runs = [run[:_LONGEST_RUN] for name in RUN_PARAMETERS for run in query.get(name, ())]
    issuer, subject = (str(context.user_info.get(key) or "") for key in ("iss", "sub"))
    return {
        # Whoever knows the id itself could go on with the session.
        "session": hashlib.sha256(context.session_id.encode()).hexdigest()[:12],
        "run": ", ".join(runs[:_MOST_RUNS]),
        "person": account(issuer, subject) if issuer and subject else "",
    }


class RequestIds:
    """ASGI middleware: each request has an id, in its lines of the log and in its answer."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take the proxy's id, or make one."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(_HEADER, "")
        request = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault(_HEADER, request)
            await send(message)

        with log.about(request=request):
            await self._app(scope, receive, send_with_id)


REQUEST_IDS = Middleware(RequestIds)
