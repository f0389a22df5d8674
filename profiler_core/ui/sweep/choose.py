"""Which sweep the page shows: `?sweep=KEY` in the address, and a control in the sidebar.

As with the runs (`ui/choice.py`) an address that has changed wins, and the menu's links, which
drop all parameters, come back to the sweep that was looked at last. An address with runs alone
(`open RUN --page sweep`) means the sweep that they are of.
"""

from collections.abc import Sequence

import streamlit as st

from profiler_core.dates import short
from profiler_core.errors import BadInput
from profiler_core.store import catalogue, library
from profiler_core.store.sweeps import SweepGroup, key_of, place_of
from profiler_core.ui.choice import keys_in_url
from profiler_core.ui.links import page_link
from profiler_core.ui.run_picker import unique_labels

_PARAMETER = "sweep"
_CHOSEN, _SEEN = "fs_chosen_sweep", "fs_seen_sweep"
_PICK = "fs_pick_sweep"
_OFFERED = 100  # the newest ones, and that of the address

_NONE_YET = """<div class=fs-empty>
<h1 class=fs-verdict>From which batch size on does compiling pay?</h1>
<p class=fs-sub>A sweep answers that: one comparison for each value of an option, one after
another, and what changes along the way. There is none on this machine yet.</p>
<ol>
<li>On the page Capture, choose an option under “Repeat for several values” and name them.</li>
<li>Or on a command line:<br>
<code>python -m profiler_core capture resnet50 --sweep batch-size=1,8,32,128</code></li>
</ol></div>"""


def choose_sweep() -> SweepGroup:
    """Draw the control and return the sweep; with none to choose, say so and stop.

    Raises:
        BadInput: the address names a sweep that is not here, or runs of none (the control is
            there all the same).
    """
    named = st.query_params.get(_PARAMETER)
    if named and named != st.session_state.get(_SEEN):
        st.session_state[_CHOSEN] = named
    key = st.session_state.get(_CHOSEN) or _of_the_runs()
    groups = catalogue.sweep_groups(_OFFERED, key=key)
    if not groups:
        st.html(_NONE_YET)
        page_link("capture", "Start a capture")
        st.stop()
    by_key = {sweep.key: sweep for sweep in groups}
    if key is None and not keys_in_url():
        key = groups[0].key
    _draw(groups, key if key in by_key else None)
    if key is None:
        raise BadInput(
            "The run in the address belongs to no sweep in your library.",
            remedy="Choose a sweep in the sidebar. One that was captured with --out is shown by "
            "python -m profiler_core sweep POINT.",
        )
    if key not in by_key:
        st.session_state[_SEEN] = key
        raise BadInput(
            f"There is no sweep “{key[:200]}” here.",
            remedy="Choose another one in the sidebar: its runs may have been deleted.",
        )
    if named != key:
        st.query_params[_PARAMETER] = key
    st.session_state[_SEEN] = key
    return by_key[key]


def _of_the_runs() -> str | None:
    """The sweep of the first run in the address that is of one; None: there is none."""
    for key in keys_in_url():
        group = catalogue.group(library.own_key(key))
        point = None if group is None else place_of(group)
        if group is not None and point is not None:
            return key_of(group, point)
    return None


def query_of_sweep(key: str) -> dict[str, str | list[str]]:
    """The address's parameter that opens this sweep."""
    return {_PARAMETER: key}


def sweep_label(sweep: SweepGroup) -> str:
    """A sweep in one line: workload, option, values, when."""
    when = "sample" if sweep.origin == "sample" else short(sweep.created_at)
    return f"{sweep.title} · {when}" if when else sweep.title


def _draw(groups: Sequence[SweepGroup], key: str | None) -> None:
    names = unique_labels({sweep.key: sweep_label(sweep) for sweep in groups})
    st.session_state[_PICK] = key
    st.sidebar.selectbox(
        "Sweep",
        list(names),
        format_func=names.__getitem__,
        key=_PICK,
        on_change=_picked,
        placeholder="Choose a sweep",
    )


def _picked() -> None:
    key = st.session_state[_PICK]
    if key is not None:
        st.session_state[_CHOSEN] = key
