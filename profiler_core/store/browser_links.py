"""Links that let one browser into the dashboard of this user, each of them once.

On a machine with several users everybody reaches the dashboard's port on localhost, and whoever
is let in runs code as its owner. So a browser is let in by a token that only the owner's processes
can make: `<home>/links/<name>` holds the SHA-256 of its secret half, readable by the owner alone.
The server removes that file when the token is used. A file, not memory: `open` makes tokens while
the server runs in another process.
"""

import hashlib
import hmac
import os
import re
import secrets
import sys
import time
import webbrowser
from html import escape
from pathlib import Path
from urllib.parse import urlencode

from profiler_core.home import home_directory
from profiler_core.store.private_file import write_private

PARAMETER = "enter"  # of a link's address; the server takes it out of the address bar
LIFETIME_S = 24 * 3600.0  # of a link that nobody has used

_FOLDER = "links"
_NAME = re.compile(r"[0-9a-f]{16}")


def new_token() -> str:
    """A token that lets one browser in, within `LIFETIME_S`.

    Raises:
        OSError: the home directory cannot be written.
    """
    folder = home_directory() / _FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _remove_expired(folder)
    name, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    write_private(folder / name, _digest(secret))
    return f"{name}.{secret}"


def use(token: str) -> bool:
    """True for the first use of a token that `new_token` made; it is worthless afterwards."""
    name, _, secret = token.partition(".")
    if not _NAME.fullmatch(name):
        return False
    file = home_directory() / _FOLDER / name
    try:
        is_right = hmac.compare_digest(_digest(secret), file.read_bytes())
        if not is_right or _is_expired(file):
            return False
        file.unlink()  # of two requests at once only one succeeds
        file.with_suffix(".html").unlink(missing_ok=True)
    except OSError:
        return False
    return True


def withdraw(token: str) -> None:
    """Make a token worthless that was not used."""
    use(token)


def link(address: str, token: str) -> str:
    """The address of a page, with the token that lets a browser in."""
    return f"{address}{'&' if '?' in address else '?'}{urlencode({PARAMETER: token})}"


def show_in_browser(address: str, token: str) -> bool:
    """Open the link in a browser with a window; False where there is no window to be seen.

    The browser gets the path of a page that leads on, readable by the owner alone: every user of
    the machine can read a command line, and would be faster with the token.
    """
    if not has_window():
        return False
    page = home_directory() / _FOLDER / f"{token.partition('.')[0]}.html"
    target = escape(link(address, token))
    write_private(
        page,
        (
            "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>"
            f'<title>Fusionscope</title><meta http-equiv=refresh content="0; url={target}">'
            f'<p><a href="{target}">Open Fusionscope</a></p>'
        ).encode(),
    )
    return show_file(page)


def show_file(file: Path) -> bool:
    """Open a file in a browser with a window; False where there is no window to be seen."""
    if not has_window():
        return False
    try:
        return webbrowser.open(file.as_uri())
    except webbrowser.Error:
        return False


def has_window() -> bool:
    """Would a browser that is started here be seen by the person who asks for it?"""
    if os.environ.get("BROWSER"):
        return True
    if "SSH_CONNECTION" in os.environ:  # webbrowser would start a text browser in this terminal
        return False
    return not sys.platform.startswith("linux") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest().encode()


def _is_expired(file: Path) -> bool:
    return time.time() - file.stat().st_mtime > LIFETIME_S


def _remove_expired(folder: Path) -> None:
    for file in folder.iterdir():
        try:
            if _is_expired(file):
                file.unlink()
        except FileNotFoundError:
            continue  # another process was faster
