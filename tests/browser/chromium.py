"""Find the Chrome or Chromium that the browser tests drive; install one where there is none.

`python -m tests.browser.chromium` prints its path, `--install` fetches one first if it must.
A missing browser is a failure, never a skip: the tests that need one are half of the product.

Where Debian has Chromium's headless shell, it is taken: the same engine without the windows,
menus and services of a browser, for two thirds of the CPU seconds. `CHROMIUM=/usr/bin/chromium`
takes the whole browser.
"""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.debian import CannotInstallError, install_package

_SHELL = "chromium-headless-shell"

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


class NoBrowser(RuntimeError):
    """No Chrome or Chromium on this machine."""


def find() -> str:
    """Path of the browser: $CHROMIUM, the shell, a whole one, or the one Playwright downloaded.

    Raises:
        NoBrowser: there is none; the message says how to get one.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        if not Path(named).is_file():
            raise NoBrowser(f"CHROMIUM={named} is no file. Unset it or name a browser.")
        return named
    return shutil.which(_SHELL) or _whole_browser()


def _whole_browser() -> str:
    """A browser with windows; what prints a report as PDF looks for such a one as well."""
    for name in _NAMES:
        path = shutil.which(name)
        if path:
            return path
    if _MAC.is_file():
        return str(_MAC)
    downloaded = _downloaded_by_playwright()
    if downloaded:
        return downloaded
    raise NoBrowser(
        "No Chrome or Chromium found. Install one (Debian: apt-get install chromium) "
        "or run `make browser`."
    )


def _downloaded_by_playwright() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None


def install() -> str:
    """The browser's path, after installing one if there was none, and the shell where it can be.

    Playwright's own download first; where that cannot be reached, the system's packages.
    """
    if os.environ.get("CHROMIUM"):
        return find()
    if not _has_whole_browser():
        argv = [sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"]
        print("+", " ".join(argv), flush=True)
        subprocess.run(argv, check=False, timeout=900)
    # Whoever cannot install a package is told by `find` where no browser is left to take.
    with suppress(CannotInstallError):
        if not _has_whole_browser():
            install_package("chromium", "Chromium")
        package = _shell_package()
        if package:
            install_package(package, "Chromium's headless shell")
    return find()


def _has_whole_browser() -> bool:
    with suppress(NoBrowser):
        return bool(_whole_browser())
    return False


def _shell_package() -> str | None:
    """The shell of just the version of Debian's Chromium, so that apt leaves that as it is.

    None: it is there already, or the browser is none of Debian's.
    """
    if shutil.which(_SHELL) or not shutil.which("dpkg-query"):
        return None
    asked = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Version}", "chromium"],
        capture_output=True,
        text=True,
    )
    version = asked.stdout.strip()
    return f"{_SHELL}={version}" if asked.returncode == 0 and version else None


if __name__ == "__main__":
    try:
        print(install() if "--install" in sys.argv[1:] else find())
    except NoBrowser as error:
        sys.exit(str(error))
