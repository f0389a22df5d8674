"""Every way by which a page shows or changes something without being opened anew asks who it is.

Streamlit runs parts of a page, callbacks and makers of files without the entry script around them.
Whoever's role was taken away, or who signed out in another tab, still has the page open.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from profiler_core.door import deeds, experimenting
from profiler_core.door.asker import Asker, Refused
from profiler_core.errors import FusionscopeError
from profiler_core.store import history
from profiler_core.ui import download, recording_choices
from profiler_core.ui.runs import chosen_point, trash
from profiler_core.ui.sign_in import guard, identity_cookie
from profiler_core.ui.sign_in.ended import end
from profiler_core.ui.sign_in.visitor import visitor
from profiler_core.ui.streamlit_routes import STREAMLIT_ROUTES
from tests.attack.conftest import RUNNER, TEAM, VIEWER, Server
from tests.ui.test_sign_in import COOKIE_SECRET, claims, cookie

ROOT = Path(__file__).resolve().parents[2]
NOBODYS = '[team]\nviewers = ["somebody@else.org"]\n'
# What Streamlit runs on its own, and the only module that may ask it to.
ONLY_IN = {
    "fragment": "profiler_core/ui/sign_in/guard.py",
    "dialog": "profiler_core/ui/sign_in/guard.py",
    "download_button": "profiler_core/ui/download.py",
}
EVENTS = ("on_click", "on_change", "on_select", "on_submit")
# A call of one of these asks who it is, at the moment of the call.
ASKS = {"who_may", "visitor", "writer", "asker", "may_delete"}
CHANGES = ("profiler_core.store", "profiler_core.door", "profiler_core.ingest.options")


def modules() -> list[Path]:
    return [
        *sorted((ROOT / "pages").glob("*.py")),
        *sorted((ROOT / "profiler_core" / "ui").rglob("*.py")),
    ]


def strays_in(text: str, name: str) -> set[str]:
    """Uses of what Streamlit runs on its own, outside of the module that guards it."""
    return {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and ast.unparse(node.value) in ("st", "streamlit", "st.sidebar")
        and ONLY_IN.get(node.attr, name) != name
    } | {
        alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module == "streamlit"
        for alias in node.names
        if alias.name in ONLY_IN
    }


def unasked_in(text: str) -> set[str]:
    """Callbacks of a module that change something, and ask nobody who it is."""
    tree = ast.parse(text)
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    changing = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(CHANGES)
        for alias in node.names
        if alias.name.islower()  # no class, which annotates
    }
    unasked = set()
    for callback in callbacks_of(tree):
        names = set(names_called(callback, functions))
        if names & changing and not names & ASKS:
            unasked.add(ast.unparse(callback))
    return unasked


def callbacks_of(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (word.value for word in node.keywords if word.arg in EVENTS)


def names_called(node: ast.AST, functions: dict[str, ast.FunctionDef]) -> Iterator[str]:
    """Each name that the node uses, and those of the module's functions that it leads to."""
    waiting, seen = [node], set()
    while waiting:
        for inner in ast.walk(waiting.pop()):
            if isinstance(inner, ast.Name) and inner.id not in seen:
                seen.add(inner.id)
                yield inner.id
                if inner.id in functions:
                    waiting.append(functions[inner.id])


def test_nothing_runs_alone_unasked() -> None:
    strays, unasked = {}, {}
    for path in modules():
        name, text = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
        strays[name], unasked[name] = strays_in(text, name), unasked_in(text)
    assert not any(strays.values()), strays
    assert not any(unasked.values()), unasked


def test_planted_ones_are_seen() -> None:
    assert strays_in("import streamlit as st\n@st.fragment\ndef f(): pass", "a.py") == {"fragment"}
    assert strays_in("from streamlit import download_button", "a.py") == {"download_button"}
    planted = (
        "from profiler_core.store import history\n"
        "def _b():\n    history.tag('a')\n"
        "def _a():\n    _b()\n"
        "st.button('x', on_click=_a)\n"
    )
    assert unasked_in(planted) == {"_a"}
    assert unasked_in(planted.replace("    _b()", "    if who_may('mark'):\n        _b()")) == set()
    assert unasked_in(planted.replace("on_click=_a", "on_click=history.tag")) == {"history.tag"}


def signed_in(server: Server, email: str = VIEWER, **more: object) -> None:
    server.is_at("127.0.0.1", TEAM, email, **more)


def loses_role(server: Server) -> None:
    (server.home / "settings.toml").write_text(NOBODYS)


def signs_out(server: Server) -> None:
    who = visitor()
    assert who is not None
    end(who.holder)


def settings_break(server: Server) -> None:
    (server.home / "settings.toml").write_text("[team")


LEAVES = pytest.mark.parametrize("leave", [loses_role, signs_out, settings_break])


@LEAVES
def test_a_part_of_an_open_page_shows_nothing_any_more(
    server: Server, monkeypatch: pytest.MonkeyPatch, leave: Callable[[Server], None]
) -> None:
    monkeypatch.setattr(guard.st, "fragment", lambda part, run_every: part)
    reruns: list[str] = []
    monkeypatch.setattr(guard.st, "rerun", lambda *, scope: reruns.append(scope))
    drawn: list[int] = []
    part = guard.fragment(drawn.append)
    signed_in(server)
    part(1)
    leave(server)
    part(2)
    assert (drawn, reruns) == ([1], ["app"])


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[[], Any]]:
    """Draws a button, and returns what Streamlit calls when it is clicked."""
    makers: list[Any] = []
    monkeypatch.setattr(
        download.st, "download_button", lambda _label, *, data, **_: makers.append(data)
    )
    monkeypatch.setattr(download, "keys_in_url", lambda: ("run/a/eager", "run/a/default"))

    def drawn(**more: Any) -> Callable[[], Any]:
        download.download_button("Take", lambda: b"secret", file_name="a.csv", **more)
        return makers[-1]  # type: ignore[no-any-return]

    return drawn


@LEAVES
def test_a_button_that_is_still_shown_hands_nothing_out(
    server: Server, maker: Callable[..., Callable[[], Any]], leave: Callable[[Server], None]
) -> None:
    signed_in(server)
    make = maker()
    assert make() == b"secret"
    noted = [(entry.action, entry.subject) for entry in history.entries(person=person(VIEWER))]
    assert noted == [("download", "run/a/eager, run/a/default")]
    leave(server)
    with pytest.raises(FusionscopeError, match=r"may not have this file|settings"):
        make()


def test_a_file_of_a_job_stays_with_whose_it_is(
    server: Server, maker: Callable[..., Callable[[], Any]]
) -> None:
    spec = type("Spec", (), {"owner": person(VIEWER), "title": "Report: a"})()
    signed_in(server)
    make = maker(job=type("Job", (), {"spec": spec})())
    assert make() == b"secret"
    spec.owner = person(RUNNER)
    with pytest.raises(Refused):
        make()


def person(email: str) -> str:
    return f"oidc:https://accounts.example.org#{email}"


# --- what Streamlit serves by itself ---


@pytest.fixture
def client(home: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setattr(identity_cookie, "get_cookie_secret", lambda: COOKIE_SECRET)
    (home / "settings.toml").write_text(TEAM)

    def media(request: Request) -> PlainTextResponse:
        is_logo = request.path_params["name"] == "logo"
        headers = {} if is_logo else {"Content-Disposition": "attachment"}
        return PlainTextResponse("bytes", headers=headers)

    routes = [
        Route("/media/{name}", media),
        Route("/_stcore/upload_file/{a}/{b}", media, methods=["PUT", "DELETE"]),
        Route("/_stcore/agent/interact", media, methods=["POST"]),
    ]
    return TestClient(Starlette(routes=routes, middleware=[STREAMLIT_ROUTES]))


def test_a_file_that_a_page_handed_out_wants_the_sign_in(client: TestClient, home: Path) -> None:
    mine = {"Cookie": cookie(claims(VIEWER))}
    stranger = {"Cookie": cookie(claims("eve@elsewhere.net"))}
    assert client.get("/media/a", headers=mine).text == "bytes"
    assert client.head("/media/a", headers=mine).status_code == 200
    for headers, status in (({}, 401), (stranger, 403)):
        refused = client.get("/media/a", headers=headers)
        assert refused.status_code == status
        assert "bytes" not in refused.text
        assert "content-disposition" not in refused.headers
    assert client.get("/media/logo").text == "bytes"  # stands on the card
    (home / "settings.toml").write_text(NOBODYS)
    assert client.get("/media/a", headers=mine).status_code == 403
    (home / "settings.toml").write_text("[team")
    assert client.get("/media/a", headers=mine).status_code == 503


def test_nobody_fills_the_memory_or_drives_a_page_past_the_browser(client: TestClient) -> None:
    mine = {"Cookie": cookie(claims(RUNNER))}
    assert client.put("/_stcore/upload_file/a/b", headers=mine).status_code == 404
    assert client.post("/_stcore/agent/interact", headers=mine).status_code == 404


# --- callbacks ---


@LEAVES
def test_no_click_on_an_open_page_changes_anything(
    server: Server, monkeypatch: pytest.MonkeyPatch, leave: Callable[[Server], None]
) -> None:
    signed_in(server, RUNNER)
    changes: list[object] = []
    for module, name in (
        (chosen_point.history, "tag"),
        (recording_choices, "keep"),
        (trash.history, "empty"),
        (trash.history, "restore"),
    ):
        monkeypatch.setattr(module, name, lambda *words, **_: changes.append(words))
    deletion = history.Deletion("d", "runs", "a title", "", (), 0, "", person(RUNNER), 1.0)
    monkeypatch.setattr(trash.history, "in_trash", lambda _: deletion)
    monkeypatch.setattr(recording_choices, "trace_format", lambda _: None)
    monkeypatch.setattr(st, "session_state", {"k": "a, b"})
    run = type("Run", (), {"run_id": "r", "tags": ()})()

    def click() -> None:
        chosen_point._set_tags(run, "k")
        recording_choices._keep_process("acme", "content", "k")
        trash._act("empty", "d")
        trash._act("restore", "d")

    click()
    assert len(changes) == 4
    leave(server)
    click()
    assert len(changes) == 4


# --- the door ---


def deeds_for_people() -> list[tuple[str, Callable[..., Any]]]:
    return [
        (name, function)
        for module in (deeds, experimenting)
        for name, function in vars(module).items()
        if inspect.isfunction(function)
        and function.__module__ == module.__name__
        and not name.startswith("_")
        and "Asker | None" in str(inspect.signature(function).parameters.get("asker", ""))
    ]


@pytest.mark.parametrize(("name", "deed"), deeds_for_people())
def test_no_deed_is_for_nobody_or_for_who_may_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch, name: str, deed: Callable[..., Any]
) -> None:
    server.is_at("127.0.0.1", f"allow_capture = true\n{TEAM}", VIEWER)
    theirs = type("Job", (), {"spec": type("S", (), {"owner": "x", "kind": "read"})()})()
    monkeypatch.setattr(deeds.jobs, "job", lambda _: theirs)
    others = [p for p in inspect.signature(deed).parameters.values() if p.name != "asker"]
    words = ["x" for p in others if p.kind is not p.VAR_POSITIONAL and p.default is p.empty]
    for nobody in (None, Asker("eve", (), signed_in=True)):
        with pytest.raises(Refused):
            deed(nobody, *words)


def test_all_deeds_are_among_them() -> None:
    assert {name for name, _ in deeds_for_people()} >= {
        "start_capture", "cancel_capture", "ask_interpreter", "make_file", "read_file",
        "start_reader", "start_reading_upload", "start_recording_push", "start_judging",
        "start_answering", "cancel_job", "read_again", "start_experiment", "resume_experiment",
        "cancel_experiment",
    }  # fmt: skip
