"""Claims that are too long for one cookie come in several, and Streamlit signs each by itself.

Two accounts of one person at the provider are enough: "verified" of one, and the address that the
other only typed into its profile, were an admin. Sign-ins here go over a provider that really runs.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from tests.attack.browser_session import session, text_of
from tests.attack.servers import STREAMLIT, Dashboard, dashboard
from tests.browser.provider import COOKIE_SECRET, running_provider, secrets_toml
from tests.quick_python import variables

IDENTITY = "_streamlit_user"
SETTINGS = """
[team]
viewers = ["vera@example.org"]
admins = ["ada@example.org"]
"""
# Long, and nothing to compress: what the groups of a large organisation are.
LONG = "".join(map(chr, Random(7).choices(range(0x4E00, 0x9FFF), k=1150)))
# Of one length up to the address, so that the pieces fit: a subject is its owner's to choose.
PEOPLE = {
    "mallory": {"email_verified": True, "name": LONG, "email": "mal@elsewhere.net"},
    "typist": {"email_verified": False, "name": LONG, "email": "ada@example.org"},
    "vera": {"email_verified": True, "name": LONG, "email": "vera@example.org"},
}
STRANGER = "Runs of your team. Sign in to see them."
NO_ROLE = "You have no role here"
NO_ADMIN = "Only an admin of this server sees this page."
OF_ADMINS = "keep_uploads_days"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, quick_python: Path) -> Iterator[Dashboard]:
    home = tmp_path_factory.mktemp("split-home")
    (home / "settings.toml").write_text(SETTINGS)
    folder = tmp_path_factory.mktemp("split-server")
    secrets = folder / "secrets.toml"
    command = (*STREAMLIT, f"--secrets.files={secrets}")
    with running_provider(PEOPLE) as provider:
        secrets.write_text(secrets_toml(provider))
        with dashboard(folder, home, command, **variables(quick_python)) as running:
            yield running


def signed_in(server: Dashboard, subject: str) -> dict[str, str]:
    """The cookies of a browser that went to the provider and back."""
    claims = {"provider": "default", "exp": 2**33}
    way = jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(COOKIE_SECRET))
    with httpx.Client(follow_redirects=True, trust_env=False, timeout=60) as browser:
        form = browser.get(f"http://localhost:{server.port}/auth/login", params={"provider": way})
        browser.post(form.url, data={"sub": subject})
        cookies = {cookie.name: cookie.value or "" for cookie in browser.cookies.jar}
    return {name: text for name, text in cookies.items() if name.startswith(IDENTITY)}


def shown(server: Dashboard, cookies: Mapping[str, str]) -> str:
    """What the page of the audit says to a browser with these cookies."""
    pieces = [f"{name}={text}" for name, text in cookies.items() if "tokens" not in name]
    with session(server, "; ".join(pieces)) as tab:
        return text_of(tab.open("activity"))


def test_pieces_of_two_sign_ins_are_nobody(team: Dashboard) -> None:
    verified, typed = signed_in(team, "mallory"), signed_in(team, "typist")
    assert {f"{IDENTITY}_1", f"{IDENTITY}_3"} <= set(verified)
    assert set(verified) == set(typed)
    for own in (verified, typed):
        assert NO_ROLE in shown(team, own)
    first = {name: verified[name] for name in (IDENTITY, f"{IDENTITY}_1")}
    for count in (verified, typed):
        page = shown(team, {**typed, **first, IDENTITY: count[IDENTITY]})
        assert OF_ADMINS not in page
        assert STRANGER in page


def test_a_long_sign_in_is_a_visitor_by_page_and_route(team: Dashboard) -> None:
    own = signed_in(team, "vera")
    assert f"{IDENTITY}_1" in own
    assert NO_ADMIN in shown(team, own)
    header = "; ".join(f"{name}={text}" for name, text in own.items() if "tokens" not in name)
    answer = team.ask("/api/runs/export?token=x", Cookie=header)
    assert (answer.status, "token" in answer.body) == (401, True)
    del own[f"{IDENTITY}_2"]
    assert STRANGER in shown(team, own)
