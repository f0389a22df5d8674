"""The link that the server prints in its terminal, and opens where it can."""

import sys

from streamlit import config

from profiler_core.store import browser_links
from profiler_core.ui.server import local_url

_printed: list[str] = []  # the tokens of links that this process has shown; a few


def show_link() -> None:
    """Print the link of this server, and open it where it was started with a window to show it.

    Raises:
        OSError: the home directory cannot be written.
    """
    token = _print_link("Fusionscope runs at")
    if not config.get_option("server.headless"):
        browser_links.show_in_browser(local_url(), token)


def show_next_link() -> None:
    """Print a fresh link where somebody watches; a log would keep one that is never used."""
    if _printed and sys.stdout.isatty():
        _print_link("The link was used. For another browser")


def withdraw_links() -> None:
    """The links of a server that ends let nobody into the next."""
    while _printed:
        browser_links.withdraw(_printed.pop())


def _print_link(words: str) -> str:
    token = browser_links.new_token()
    _printed.append(token)
    print(f"\n  {words}: {browser_links.link(local_url(), token)}", flush=True)
    print("  It lets in one browser, once; `fusionscope open` makes another.\n", flush=True)
    return token
