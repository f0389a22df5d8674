"""Find the Chrome or Chromium that the browser tests drive; install one where there is none.

`python -m tests.browser.chromium` prints its path, `--install` fetches one first if it must.
A missing browser is a failure, never a skip: the tests that need one are half of the product.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


class NoBrowser(RuntimeError):
    """No Chrome or Chromium on this machine."""


def find() -> str:
    """Path of the browser: $CHROMIUM, an installed one, or the one Playwright downloaded.

    Raises:
        NoBrowser: there is none; the message says how to get one.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        if not Path(named).is_file():
            raise NoBrowser(f"CHROMIUM={named} is no file. Unset it or name a browser.")
        return named
    for name in _NAMES:
        found = shutil.which(name)
        if found:
            return found
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
    """The browser's path, after installing one if there was none.

    Playwright's own download first; where that cannot be reached, the system's packages.
    """
    try:
        return find()
    except NoBrowser:
        pass
    attempts = [[sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        attempts += [["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "chromium"]]
    for argv in attempts:
        print("+", " ".join(argv), flush=True)
        subprocess.run(argv, check=False, timeout=900)
        try:
            return find()
        except NoBrowser:
            continue
    return find()


if __name__ == "__main__":
    try:
        print(install() if "--install" in sys.argv[1:] else find())
    except NoBrowser as error:
        sys.exit(str(error))
