"""Links that let a browser in: their life, and what other users of the machine can see of them."""

import os
import stat
import time
import webbrowser
from pathlib import Path

import pytest

from profiler_core.store import browser_links

ADDRESS = "http://localhost:8501/fusion?baseline=a&candidate=b"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_token_is_used_once() -> None:
    token = browser_links.new_token()
    assert browser_links.use(token)
    assert not browser_links.use(token)


def test_its_secret_stands_nowhere_on_the_disk(home: Path) -> None:
    secret = browser_links.new_token().partition(".")[2]
    (file,) = (home / "links").iterdir()
    assert secret.encode() not in file.read_bytes()


def test_a_token_is_good_for_a_day_and_its_file_goes_with_it(home: Path) -> None:
    token, other = browser_links.new_token(), browser_links.new_token()
    yesterday = time.time() - browser_links.LIFETIME_S
    for name, age_s in ((token, 1.0), (other, -60.0)):
        file = home / "links" / name.partition(".")[0]
        os.utime(file, (yesterday - age_s, yesterday - age_s))
    assert not browser_links.use(token)
    assert browser_links.use(other)
    browser_links.new_token()
    assert len(list((home / "links").iterdir())) == 1


def test_a_withdrawn_token_lets_nobody_in() -> None:
    token = browser_links.new_token()
    browser_links.withdraw(token)
    assert not browser_links.use(token)


def test_a_token_that_cannot_be_spent_lets_nobody_in(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk that became read-only it would work for ever."""
    token = browser_links.new_token()

    def fail(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "unlink", fail)
    assert not browser_links.use(token)


def test_the_command_line_of_the_browser_does_not_hold_the_token(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every user of the machine reads it in the list of processes."""
    said = tmp_path / "said.txt"
    monkeypatch.setenv("BROWSER", f"sh -c 'echo \"$*\" > {said}' sh %s")
    monkeypatch.setattr(webbrowser, "_tryorder", None)  # read once a process, by whoever was first
    monkeypatch.setattr(webbrowser, "_browsers", {})
    token = browser_links.new_token()
    assert browser_links.show_in_browser(ADDRESS, token)
    argument = said.read_text().rstrip()
    assert argument.startswith("file://")
    assert token.partition(".")[2] not in argument
    page = Path(argument.removeprefix("file://"))
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert f"{ADDRESS}&enter={token}".replace("&", "&amp;") in page.read_text()
    assert browser_links.use(token)
    assert not page.exists()


@pytest.mark.parametrize(
    "environment", [{}, {"SSH_CONNECTION": "a 1 b 2", "DISPLAY": "localhost:10.0"}]
)
def test_without_a_window_to_see_no_browser_is_started(
    home: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    assert not browser_links.show_in_browser(ADDRESS, browser_links.new_token())
    assert not list((home / "links").glob("*.html"))
