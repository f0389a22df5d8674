"""What the server does when it starts and ends: it announces itself, and looks for lost runs.

The announcement is for `open` to find it; the link that lets the owner's browser in is printed.
Runs may not be in the history yet: after a crash, or
after captures on a command line, they are there before anybody asks. The work is done by a process
of low priority; ended in the middle it leaves nothing half done.
What the pages import takes a second, which a thread spends before the first visitor would.
"""

import ast
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from threading import Thread

import anyio
import streamlit as st
from streamlit import config

from profiler_core.errors import BadInput
from profiler_core.page_specs import page_specs
from profiler_core.store import running
from profiler_core.ui.own_machine.announcing import show_link, withdraw_links
from profiler_core.ui.server import local_url
from profiler_core.ui.sign_in.needed import is_needed
from profiler_core.worker.worker import Worker

_END_TIMEOUT_S = 10

_log = logging.getLogger(__name__)


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Around the life of the server."""
    worker = Worker(  # what it meets, the page Trends says
        "profiler_core.store.history", "--in-background", needs=("database", "remote")
    )
    # Streamlit has bound its port before: it may be another than the settings say.
    here = running.announce(local_url(), int(config.get_option("server.port")))
    if _asks_to_sign_in():
        print(f"\n  Fusionscope runs at {here.url}\n", flush=True)
    else:
        show_link()
    Thread(target=import_pages, name="imports of the pages", daemon=True).start()
    try:
        yield
    finally:
        running.withdraw(here)
        withdraw_links()
        worker.cancel()
        await anyio.to_thread.run_sync(worker.wait, _END_TIMEOUT_S)


def import_pages() -> None:
    """Import what the page files import, the start page's first.

    A page file itself is a script that draws, and is not run. What fails here fails again on the
    page, which says so to whoever opens it.
    """
    try:
        for spec in page_specs():
            for node in ast.parse(spec.file.read_text("utf-8")).body:
                if isinstance(node, ast.ImportFrom) and node.module:
                    import_module(node.module)
    except (BadInput, SyntaxError, ImportError, OSError) as error:
        _log.warning("Pages could not be imported ahead: %s", error)


def _asks_to_sign_in() -> bool:
    try:
        return is_needed()
    except BadInput:  # settings.toml cannot be used; the owner's browser is shown why
        return False
