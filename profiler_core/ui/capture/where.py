"""On which machine a capture runs: this one, or another that the settings name."""

import streamlit as st

from profiler_core.door.hosts import may_name_any_host
from profiler_core.settings import FILE, settings
from profiler_core.ui.sign_in.asker import asker

KEY = "fs_c_host"
_HERE = "this machine"


def chosen_host() -> str:
    """What the field says; empty: this machine."""
    return str(st.session_state.get(KEY) or "")


def host_field() -> None:
    """Offer the owner's machines; on one's own machine any address may be typed."""
    visitor = asker()
    may_type = visitor is None or may_name_any_host(visitor)
    names = tuple(settings().hosts)
    if not names and not may_type:
        return
    st.selectbox(
        "Runs on",
        names,
        index=None,
        key=KEY,
        placeholder=_HERE,
        accept_new_options=may_type,
        width=220,
        help="Another machine: your code is sent there, and the runs come back. "
        + ("A name of ~/.ssh/config or user@host, or " if may_type else "")
        + f"{'one' if may_type else 'One'} of [hosts] in {FILE}: ssh, Slurm or Kubernetes.",
        persist_state="session",
    )


def host_card(name: str) -> None:
    """What is known of another machine before anything is asked there."""
    host = settings().hosts.get(name)
    python = (host.python if host is not None else None) or "python3"
    st.write(
        f"Runs on **{name}**, with `{python}` there unless *Python environment* names another. "
        "What is missing there is said when it starts."
    )
