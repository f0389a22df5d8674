"""Programs that call the routes of a team's server, each with the token of a person."""

import asyncio
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.applications import Starlette

from profiler_core.person import account
from profiler_core.store.history.api_tokens import make_token
from profiler_core.store.history.people import remember_person
from profiler_core.ui.routes import all_routes
from profiler_core.ui.routes.agents import Protocol
from tests.attack.conftest import ISSUER


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> str:
        assert self.json["remedy"]
        return str(self.json["problem"])


def person_of(email: str, **more: Any) -> str:
    """The account of somebody who signed in here once."""
    person = account(ISSUER, email)
    values = {"address": email, "name": email.partition("@")[0], "groups": (), **more}
    remember_person(person, issuer=ISSUER, subject=email, **values)
    return person


def token_of(email: str, *scopes: str, name: str = "CI", days: int = 90, **more: Any) -> str:
    """A token's text of this person, who signed in here once."""
    return make_token(person_of(email, **more), name, scopes, days=days)[1]


def call(
    method: str,
    path: str,
    token_text: str | None = None,
    body: bytes | Mapping[str, object] = b"",
    headers: "list[tuple[str, str]] | None" = None,
    agents: Protocol | None = None,
    before_body: Callable[[], object] = lambda: None,
    raw_query: str | None = None,
    **query: str,
) -> Answer:
    """One request straight to the application, without a server.

    `before_body` is called between the head of the request and its body; `raw_query` stands in the
    address as it is, in place of `query`.
    """
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = [("host", "localhost:8501"), ("content-length", str(len(data)))]
    sent += [("authorization", f"Bearer {token_text}")] if token_text is not None else []
    replaced = {name for name, _ in headers or ()} - {"authorization"}
    sent = [(name, text) for name, text in sent if name not in replaced] + (headers or [])
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1",
        "method": method, "scheme": "http", "path": path, "raw_path": path.encode(),
        "root_path": "", "query_string": (raw_query or urlencode(query)).encode(),
        "headers": [(name.encode(), text.encode("latin-1")) for name, text in sent],
        "client": ("127.0.0.1", 1), "server": ("localhost", 8501),
    }  # fmt: skip
    incoming = [{"type": "http.request", "body": data, "more_body": False}]
    messages: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if incoming:
            before_body()
            return incoming.pop(0)
        await asyncio.sleep(3600)
        raise AssertionError

    async def send(message: Any) -> None:
        messages.append(message)

    application = Starlette(routes=all_routes(agents))
    asyncio.run(asyncio.wait_for(application(scope, receive, send), 120))
    start = messages[0]
    named = {name.decode(): text.decode("latin-1") for name, text in start["headers"]}
    return Answer(start["status"], named, b"".join(m.get("body", b"") for m in messages[1:]))


def zipped(folder: Path, inside: str | None = None) -> bytes:
    """The folder as a .zip, below its own name or another."""
    top = folder.name if inside is None else inside
    members = {
        f"{top}/{path.relative_to(folder)}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return zip_of(members)


def zip_of(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()
