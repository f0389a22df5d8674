"""Launcher: `streamlit run app.py` or `python app.py` opens the dashboard.

The entry script lies in a folder without `pages/`: beside one, Streamlit would open a cold deep
link as a bare page file and skip the entry script, and with it any sign-in.
Plain HTTP routes next to Streamlit serve what reruns are bad at (packets, uploads, downloads).
In front of all stand ids for the log, answers that a proxy must not lose, what is answered while
the home is away, and the gate of one's own machine, where nobody signs in; behind it, what hands
out the files of the client, what closes routes of Streamlit that nobody may use, a hint for
browsers that the library of figures will be needed, and what begins to compute what a page asks.
"""

import os
import sys

import streamlit as st

from profiler_core.agents.over_http import http_application
from profiler_core.resources import dashboard_words, entry_script
from profiler_core.ui.ahead import AHEAD
from profiler_core.ui.client_files import CLIENT_FILES
from profiler_core.ui.early_answers import EARLY_ANSWERS
from profiler_core.ui.home_away import WHILE_HOME_IS_AWAY
from profiler_core.ui.own_machine.gate import MIDDLEWARE
from profiler_core.ui.problem_card import show_script_error
from profiler_core.ui.routes import all_routes
from profiler_core.ui.script_hints import HINTS
from profiler_core.ui.server import (
    keep_files_private,
    refuse_foreign_secrets,
    refuse_public_address,
)
from profiler_core.ui.server_log import REQUEST_IDS, configure
from profiler_core.ui.startup import lifespan
from profiler_core.ui.streamlit_routes import STREAMLIT_ROUTES
from profiler_core.ui.widget_values import check_widget_values

if __name__ != "__main__":
    refuse_foreign_secrets()  # the next line reads them

app = st.App(
    entry_script(),
    routes=all_routes(http_application),
    middleware=[
        REQUEST_IDS,
        EARLY_ANSWERS,
        WHILE_HOME_IS_AWAY,
        *MIDDLEWARE,
        CLIENT_FILES,
        STREAMLIT_ROUTES,
        HINTS,
        AHEAD,
    ],
    lifespan=lifespan,
    on_script_error=show_script_error,
)

if __name__ == "__main__":
    # Not app.run(): it takes neither flags nor STREAMLIT_… variables.
    os.execv(sys.executable, dashboard_words(*sys.argv[1:]))  # noqa: S606

# Only in the server's own process: the settings that count are known there.
configure()
keep_files_private()
check_widget_values()
refuse_public_address()
