"""A team's server in a real browser: without sign-in nothing, then each role what it may.

The OpenID Connect provider is a package's own server; nothing of the way in is mocked here.
"""

import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Origin

from profiler_core.ui.routes.token import sign
from tests.browser.conftest import CAPTURES, ROOT, Server, ready, running_server, watched_page
from tests.browser.provider import running_provider, secrets_toml
from tests.quick_python import variables

pytestmark = pytest.mark.browser

SECRET_NAME = "project-nightingale"  # what nobody may see who is not signed in
PAGES = ("", *sorted(path.stem for path in (ROOT / "pages").glob("*.py")))
COMPARISON = {"baseline": "run/cnn/eager", "candidate": "run/cnn/reduce-overhead"}
SETTINGS = """
allow_capture = true

[team]
viewers = ["*@example.org"]
runners = ["group:performance"]
admins = ["ada@example.org"]
"""
LetIn = dict[str, list[Any]]
PEOPLE = {
    "vera": {"email": "vera@example.org", "name": "Vera Viewer", "email_verified": True},
    "rob": {
        "email": "rob@example.org",
        "name": "Rob Runner",
        "groups": ["performance"],
        "email_verified": True,
    },
    "ada": {"email": "ada@example.org", "name": "Ada Admin", "email_verified": True},
    "eve": {"email": "eve@elsewhere.net", "name": "Eve Elsewhere"},
    "mallory": {"email": "ada@example.org", "name": "Mallory", "email_verified": False},
}


@pytest.fixture(scope="module")
def team_home(tmp_path_factory: pytest.TempPathFactory, columns: Path) -> Path:
    home = tmp_path_factory.mktemp("team-home")
    (home / "cache").symlink_to(columns)
    for variant in ("eager", "reduce-overhead"):
        folder = home / "runs" / "cnn" / variant
        shutil.copytree(CAPTURES / f"customcnn_b1.{variant}", folder)
        text = (folder / "run.json").read_text()
        (folder / "run.json").write_text(text.replace("customcnn_b1", SECRET_NAME))
        assert SECRET_NAME in (folder / "run.json").read_text()
    (home / "settings.toml").write_text(SETTINGS)
    return home


@pytest.fixture(scope="module")
def team(
    team_home: Path, tmp_path_factory: pytest.TempPathFactory, quick_python: Path
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("team-server")
    secrets = folder / "secrets.toml"
    more = variables(quick_python) | {"STREAMLIT_SECRETS_FILES": str(secrets)}
    with running_provider(PEOPLE) as provider:
        secrets.write_text(secrets_toml(provider))
        with running_server(team_home, folder / "log.txt", **more) as server:
            yield server


@pytest.fixture(scope="module")
def let_in() -> LetIn:
    """Cookies of who has signed in and not out again; the way in is four pages."""
    return {}


def signed_in(page: Page, team: Server, subject: str, let_in: LetIn, link: str) -> None:
    """At this link, as a person whom the server knows from an earlier test, or by `sign_in`."""
    if subject in let_in:
        page.context.add_cookies(let_in[subject])
        page.goto(link)
        ready(page)
        return
    sign_in(page, team, subject, link)
    let_in[subject] = page.context.cookies(team.url)


def sign_in(page: Page, team: Server, subject: str, link: str) -> None:
    """From the card that stands at this link to the provider, and back to the link."""
    page.goto(link)
    ready(page)
    with at_the_provider(page):
        page.get_by_role("button", name="Sign in").click()
        page.get_by_placeholder("sub").fill(subject)
    page.get_by_role("button", name="Authorize", exact=True).click()
    page.wait_for_url(f"{team.url}/**")
    ready(page)


def sign_out(page: Page, name: str) -> None:
    """From the menu to the provider, which says goodbye."""
    page.get_by_role("button", name=name).click()
    with at_the_provider(page):
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/oauth2/end_session?**")


@contextmanager
def at_the_provider(page: Page) -> Iterator[None]:
    """Its own pages want a style sheet from elsewhere; here nothing is fetched.

    No longer than for them: with a route the browser keeps no script that it has compiled.
    """
    elsewhere = "https://cdn.jsdelivr.net/**"
    page.route(elsewhere, lambda route: route.fulfill(body=""))
    yield
    page.unroute(elsewhere)


@contextmanager
def everything_sent(page: Page) -> Iterator[list[bytes]]:
    """All that the server sends meanwhile over the page's websocket."""
    frames: list[bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on(
            "framereceived",
            lambda frame: frames.append(frame if isinstance(frame, bytes) else frame.encode()),
        )

    page.on("websocket", listen)
    yield frames
    page.remove_listener("websocket", listen)


def told_on(team: Server, name: str) -> list[bytes]:
    """All that the server sends to a stranger's browser that opens this page."""
    ask = BackMsg()
    ask.rerun_script.page_name = name
    ask.rerun_script.query_string = urlencode(COMPARISON)
    address = f"{team.url.replace('http', 'ws', 1)}/_stcore/stream"
    frames: list[bytes] = []
    with connect(address, origin=Origin(team.url), max_size=None) as socket:
        socket.send(ask.SerializeToString())
        while True:
            frames.append(socket.recv(timeout=60, decode=False))
            message = ForwardMsg.FromString(frames[-1])
            if message.WhichOneof("type") == "script_finished":
                assert message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
                return frames


def assert_nothing_of_the_runs(frames: list[bytes]) -> None:
    """Neither their workload nor a candidate is named."""
    assert frames
    for secret in (SECRET_NAME.encode(), b"reduce-overhead"):
        assert not any(secret in frame for frame in frames)


@pytest.mark.parametrize("name", PAGES)
def test_a_stranger_is_told_to_sign_in_and_no_data_on_any_page(team: Server, name: str) -> None:
    """The messages that the browser draws a page from: a page there takes a second of a core."""
    frames = told_on(team, name)
    assert any(b"Sign in" in frame for frame in frames)
    assert_nothing_of_the_runs(frames)
    assert not any(b"Start capture" in frame for frame in frames)
    kinds = {ForwardMsg.FromString(frame).WhichOneof("type") for frame in frames}
    assert "delta" in kinds
    assert "navigation" not in kinds  # the menu of pages


def test_a_stranger_sees_the_card_and_no_data(browser: Browser, team: Server) -> None:
    for page in watched_page(browser):
        with everything_sent(page) as sent:
            for name in ("", "capture", "kernels"):
                page.goto(team.link(name, **COMPARISON))
                ready(page)
                expect(page.get_by_role("button", name="Sign in")).to_be_visible()
                assert SECRET_NAME not in page.content(), name
                assert page.get_by_test_id("stSidebarNav").count() == 0
                assert page.get_by_role("button", name="Start capture").count() == 0
            assert_nothing_of_the_runs(sent)


def test_signing_in_leads_on_to_where_the_link_led(
    browser: Browser, team: Server, let_in: LetIn
) -> None:
    for page in watched_page(browser):
        sign_in(page, team, "vera", team.link("kernels", q="gemm", **COMPARISON))
        let_in["vera"] = page.context.cookies(team.url)
        expect(page).to_have_url(
            re.compile(r"/kernels\?(?=.*q=gemm)(?=.*baseline=run%2Fcnn%2Feager)")
        )
        ready(page)
        expect(page.get_by_role("heading", name="Kernels")).to_be_visible()


def test_a_viewer_sees_runs_and_cannot_capture(
    browser: Browser, team: Server, let_in: LetIn
) -> None:
    for page in watched_page(browser):
        signed_in(page, team, "vera", let_in, team.link(**COMPARISON))
        expect(page.get_by_text(SECRET_NAME).first).to_be_visible()
        page.goto(team.link("capture"))
        ready(page)
        expect(page.get_by_role("button", name="Start capture")).to_be_disabled()
        expect(page.get_by_text("Your role here is viewer")).to_be_visible()
        page.goto(team.link("runs"))
        ready(page)
        expect(page.get_by_text(SECRET_NAME).first).to_be_visible()
        expect(page.get_by_role("button", name="Delete", exact=True)).to_have_count(0)
        expect(page.get_by_text("Uploads need the role of a runner")).to_be_visible()


def test_a_runner_can_capture(browser: Browser, team: Server, let_in: LetIn) -> None:
    for page in watched_page(browser):
        signed_in(page, team, "rob", let_in, team.link("capture"))
        expect(page.get_by_role("button", name="Start capture")).to_be_enabled()
        expect(page.get_by_role("link", name="Activity")).to_have_count(0)


def test_a_token_is_shown_in_one_visit_and_opens_nothing_once_it_is_revoked(
    browser: Browser, team: Server, let_in: LetIn
) -> None:
    def runs(token: str) -> int:
        request = urllib.request.Request(
            f"{team.url}/api/runs", headers={"Authorization": f"Bearer {token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    for page in watched_page(browser):
        signed_in(page, team, "rob", let_in, team.link())
        page.get_by_test_id("stSidebarNav").get_by_role("link", name="API tokens").click()
        page.wait_for_url("**/api_tokens")
        ready(page)
        page.emulate_media(color_scheme="dark")  # white on light blue could not be read
        button = page.get_by_role("button", name="Make the token")
        expect(button.locator("p")).to_have_css("color", "rgb(17, 19, 24)")
        page.get_by_role("textbox", name="Name").fill("Nightly <b>CI</b>")
        page.get_by_role("button", name="Make the token").click()
        expect(page.get_by_test_id("stCode")).to_contain_text("fsc_")
        token = page.get_by_test_id("stCode").inner_text().strip()
        assert runs(token) == 200
        page.emulate_media(color_scheme="light")  # Python is told, and runs the page again
        expect(page.locator("html")).to_have_css("color-scheme", "light")
        expect(page.get_by_test_id("stCode")).to_contain_text(token)
        page.get_by_role("button", name="Revoke").click()
        expect(page.get_by_text("revoked 20")).to_be_visible()
        assert token not in page.content()
        assert runs(token) == 401


def test_a_new_token_goes_when_its_page_is_left_or_it_is_closed(
    browser: Browser, team: Server, let_in: LetIn
) -> None:
    for page in watched_page(browser):
        signed_in(page, team, "rob", let_in, team.link("api_tokens"))
        sidebar = page.get_by_test_id("stSidebarNav")
        for leaves in (False, True):
            page.get_by_role("textbox", name="Name").fill(f"Leaves: {leaves}")
            page.get_by_role("button", name="Make the token").click()
            expect(page.get_by_test_id("stCode")).to_contain_text("fsc_")
            if leaves:
                for name, address in (
                    ("Runs and uploads", "**/runs**"),
                    ("API tokens", "**/api_tokens"),
                ):
                    sidebar.get_by_role("link", name=name).click()
                    page.wait_for_url(address)
                    ready(page)
            else:
                page.get_by_role("button", name="I have copied it").click()
            expect(page.get_by_test_id("stCode")).to_have_count(0)
            expect(page.get_by_text(f"Leaves: {leaves}")).to_be_visible()


def test_an_admin_sees_who_did_what(browser: Browser, team: Server, let_in: LetIn) -> None:
    for page in watched_page(browser):
        signed_in(page, team, "ada", let_in, team.link())
        page.get_by_test_id("stSidebarNav").get_by_role("link", name="Activity").click()
        page.wait_for_url("**/activity")
        ready(page)
        expect(page.get_by_test_id("stDataFrame")).to_be_visible()
        page.goto(team.link("runs"))
        ready(page)
        expect(page.get_by_role("button", name="Delete", exact=True).first).to_be_visible()


@pytest.mark.parametrize("who", ["eve", "mallory"])
def test_an_account_without_a_role_sees_nothing(browser: Browser, team: Server, who: str) -> None:
    for page in watched_page(browser):
        with everything_sent(page) as sent:
            sign_in(page, team, who, team.link())
            for name in ("", "runs"):
                page.goto(team.link(name, **COMPARISON))
                ready(page)
                expect(page.get_by_text("You have no role here")).to_be_visible()
                assert SECRET_NAME not in page.content()
            assert not any(SECRET_NAME.encode() in frame for frame in sent)


def test_signing_out_ends_it_in_every_tab_and_for_a_copied_cookie(
    browser: Browser, team: Server, let_in: LetIn
) -> None:
    for page in watched_page(browser):
        signed_in(page, team, "ada", let_in, team.link(**COMPARISON))
        cookies = page.context.cookies()
        other = page.context.new_page()
        other.goto(team.link("runs"))
        ready(other)
        expect(other.get_by_text(SECRET_NAME).first).to_be_visible()

        sign_out(page, "Ada Admin")
        del let_in["ada"]
        # The other tab still has its connection; its next click finds the door closed.
        other.get_by_text("Trends", exact=True).click()
        expect(other.get_by_role("button", name="Sign in")).to_be_visible()
        ready(other)  # what was there before stays until the run has ended
        assert SECRET_NAME not in other.content()

        # The cookie as it was, in a browser that has no other: well signed, but over.
        page.context.clear_cookies()
        page.context.add_cookies([{**cookie} for cookie in cookies])  # type: ignore[typeddict-item]
        stolen = page.context.new_page()
        stolen.goto(team.link("runs"))
        ready(stolen)
        expect(stolen.get_by_role("button", name="Sign in")).to_be_visible()
        assert SECRET_NAME not in stolen.content()


def test_our_routes_refuse_whoever_is_not_signed_in(
    browser: Browser, team: Server, team_home: Path, let_in: LetIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(team_home))
    address = f"{team.url}/api/timeline/view?start_ns=0&end_ns=9&width=9&token="
    assert status(address) == 401
    assert status(address + sign("timeline", "traces/v1-a")) == 401  # signed by us, for nobody
    for page in watched_page(browser):
        with page.expect_request("**/api/timeline/view?**") as asked:
            signed_in(page, team, "vera", let_in, team.link("timeline", **COMPARISON))
        own = asked.value.headers["x-fusionscope-token"]
        # Signed in, but with a token that was made for somebody else.
        foreign = address + sign("timeline", "traces/v1-a", holder="0" * 32)
        assert page.request.get(foreign).status == 401
        upload = page.request.put(
            f"{team.url}/api/upload/0?name=a&token={sign('upload', 'x')}",
            headers={"Origin": team.url},
            data="x",
        )
        assert upload.status == 403  # a viewer does not upload
        view = f"{address}{own}"
        assert page.request.get(view).status == 200
        assert status(view) == 401  # the same token in other hands
        cookies = _cookie_header(page.context)
        sign_out(page, "Vera Viewer")
        del let_in["vera"]
        assert page.request.get(view).status == 401
        assert status(view, cookies) == 401  # token and cookie of before


def status(url: str, cookie: str = "") -> int:
    request = urllib.request.Request(url, headers={"Cookie": cookie} if cookie else {})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def _cookie_header(context: BrowserContext) -> str:
    return "; ".join(f"{c['name']}={c['value']}" for c in context.cookies())
