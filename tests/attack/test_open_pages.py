"""A page that is open when its visitor signs out in another tab, or loses the role.

By the messages of its websocket and by plain requests, on a server that really runs: neither parts
of the page, nor the whole, nor files that it offered are had any more.
"""

import time
from collections.abc import Callable, Iterator

import pytest

from profiler_core.ui.routes.run_zip import SCOPE as EXPORT
from profiler_core.ui.routes.token import sign
from profiler_core.ui.sign_in import visitor
from profiler_core.ui.sign_in.ended import end, has_ended
from tests.attack.browser_session import file_ids_of, parts_of, session, text_of
from tests.attack.conftest import TEAM, VIEWER
from tests.attack.servers import COOKIE_SECRET, Dashboard
from tests.ui.test_sign_in import claims, cookie

NOBODYS = '[team]\nviewers = ["somebody@else.org"]\n'
RUNS = "baseline=sample/customcnn/eager&candidate=sample/customcnn/default"
SHOWN = "customcnn"  # on each page of these runs

BY_OUR_BUTTON = {"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "navigate"}

Leave = Callable[[Dashboard, str], None]


def loses_role(server: Dashboard, _: str) -> None:
    (server.home / "settings.toml").write_text(NOBODYS)


def signs_out(_: Dashboard, holder: str) -> None:
    end(holder)


def signs_out_by_address(server: Dashboard, holder: str) -> None:
    """Streamlit's own address, which its button leads to."""
    answer = server.ask("/auth/logout", Cookie=_COOKIES[holder], **BY_OUR_BUTTON)
    assert answer.status < 400


_COOKIES: dict[str, str] = {}


@pytest.fixture
def signed_in(api_server: Dashboard, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """A cookie, and what the server calls that sign-in."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(api_server.home))
    said = claims(VIEWER, iat=time.time_ns(), origin=f"http://localhost:{api_server.port}")
    holder = visitor._holder(said)
    _COOKIES[holder] = cookie(said, COOKIE_SECRET)
    yield _COOKIES[holder], holder
    (api_server.home / "settings.toml").write_text(TEAM)


@pytest.mark.parametrize("leave", [loses_role, signs_out, signs_out_by_address])
def test_nothing_of_an_open_page_is_had_any_more(
    api_server: Dashboard, signed_in: tuple[str, str], leave: Leave
) -> None:
    sent, holder = signed_in
    with session(api_server, sent) as tab:
        page = tab.open("kernels", RUNS)
        assert SHOWN in text_of(page)
        parts, (file_id, *_) = parts_of(page), file_ids_of(page)
        assert parts
        address = tab.file(file_id)
        assert api_server.ask(address, Cookie=sent).status == 200
        leave(api_server, holder)
        assert api_server.ask(address, Cookie=sent).status in (401, 403)
        assert tab.file(file_id) == ""
        for part in sorted(parts):
            assert SHOWN not in text_of(tab.run_part(part))
        for name in ("kernels", "runs", "jobs", "review", ""):
            assert SHOWN not in text_of(tab.open(name, RUNS))
    with session(api_server, sent) as again:
        assert SHOWN not in text_of(again.open("kernels", RUNS))


@pytest.mark.parametrize(
    "sent_along",
    [
        {},  # a browser that says nothing, or a program
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},  # a link of another site
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "navigate"},  # of a sibling name
        {"Sec_Fetch_Site": "none", "Sec_Fetch_Mode": "navigate"},  # of a mail
        {"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "no-cors"},  # a picture in a note
        {"Referer": "http://evil.example/"},
    ],
)
def test_no_other_page_signs_anybody_out(
    api_server: Dashboard, signed_in: tuple[str, str], sent_along: dict[str, str]
) -> None:
    sent, holder = signed_in
    for address in ("/auth/logout", "/auth/logout/"):
        answer = api_server.ask(address, Cookie=sent, **sent_along)
        assert answer.status in (403, 404)
        assert "set-cookie" not in answer.headers
    assert not has_ended(holder)


def test_without_tls_a_browser_says_by_the_referer_which_page_it_comes_from(
    api_server: Dashboard, signed_in: tuple[str, str]
) -> None:
    sent, holder = signed_in
    page = f"http://localhost:{api_server.port}/runs"
    assert api_server.ask("/auth/logout", Cookie=sent, Referer=page).status < 400
    assert has_ended(holder)


@pytest.mark.parametrize("leave", [loses_role, signs_out])
def test_a_link_that_was_copied_opens_nothing_any_more(
    api_server: Dashboard, signed_in: tuple[str, str], leave: Leave
) -> None:
    sent, holder = signed_in
    token = sign(EXPORT, "no-such-run", holder=holder)
    paths = {"/api/runs/export": 422, "/api/timeline/view": 401, "/api/perfetto/merged": 401}
    for path, status in paths.items():
        assert api_server.ask(f"{path}?token={token}", Cookie=sent).status == status
        assert api_server.ask(f"{path}?token={token}").status == 401
    leave(api_server, holder)
    for path in paths:
        assert api_server.ask(f"{path}?token={token}", Cookie=sent).status in (401, 403)


def test_who_has_no_cookie_is_shown_the_card_alone(api_server: Dashboard) -> None:
    with session(api_server, "x=y") as tab:
        page = tab.open("kernels", RUNS)
        assert SHOWN not in text_of(page)
        assert (parts_of(page), file_ids_of(page)) == (set(), [])
        assert tab.file("0" * 32) == ""
