"""What the server does when it starts and ends: it announces itself, looks for lost runs and jobs.

The announcement is for `open` to find it; the link that lets the owner's browser in is printed.
Runs may not be in the history yet: after a crash, or
after captures on a command line, they are there before anybody asks. The work is done by a process
of low priority; ended in the middle it leaves nothing half done.
What the pages import, and what libraries do once, takes a second and a half, which a thread spends
before the first visitor would.
"""

import ast
import gc
import inspect
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from threading import Event, Thread

import anyio
import streamlit as st
from streamlit import config

from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.jobs.resuming import look_after_jobs
from profiler_core.operate.notices import look_after_notices
from profiler_core.page_specs import page_specs
from profiler_core.store import running
from profiler_core.ui.capture.withdrawn import look_after_rights
from profiler_core.ui.idle import look_after_memory
from profiler_core.ui.nagle import send_at_once
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
    port = int(config.get_option("server.port"))
    send_at_once(port)
    here = running.announce(local_url(), port)
    if _asks_to_sign_in():
        _log.info("Fusionscope runs at %s", here.url)
    else:
        show_link()
    stopped = Event()
    Thread(target=look_after_jobs, args=(stopped,), name="jobs", daemon=True).start()
    Thread(target=look_after_rights, args=(stopped,), name="rights", daemon=True).start()
    Thread(target=look_after_memory, args=(stopped,), name="memory", daemon=True).start()
    Thread(target=look_after_notices, args=(stopped,), name="notices", daemon=True).start()
    Thread(target=get_ready, name="what the first visit needs", daemon=True).start()
    try:
        yield
    finally:
        stopped.set()
        running.withdraw(here)
        withdraw_links()
        worker.cancel()
        await anyio.to_thread.run_sync(worker.wait, _END_TIMEOUT_S)


def get_ready() -> None:
    """Do what only the first visit of a server would pay for."""
    import_pages()
    # Late: the server answers before all this is imported.
    from profiler_core.figures.template import new_figure
    from profiler_core.figures.theme import LIGHT
    from profiler_core.ingest.formats import file_kinds
    from profiler_core.markup import load_templates
    from profiler_core.session.kept import code_version
    from profiler_core.store import catalogue

    try:
        # When the first element is drawn, Streamlit asks which module stands on top of the stack:
        # inspect looks at the files of all modules for that, once.
        inspect.stack(context=1)
        load_templates("page/")
        new_figure(LIGHT).add_bar(x=[0], y=[0]).add_scatter(x=[0], y=[0]).to_json()
        code_version()
        file_kinds()
        catalogue.refresh(everything=True)  # decodes the records that are new
    except (FusionscopeError, OSError) as error:
        _log.warning("The first visit will be slower: %s", error)
    # Streamlit collects garbage after each run of a script, 0.12 s of a core in which no session
    # goes on, if it goes through all that was imported each time.
    gc.collect()
    gc.freeze()


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
