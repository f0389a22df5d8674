"""Where the timeline looks: told by the canvas, by the URL, or by other runs, in one place.

A rerun that the canvas caused goes by what it told. Otherwise a URL that is not the one last
written (a link, the back button) goes first, and other runs begin anew. The outcome is written
back; the canvas has put the same text into the address bar before, so that this adds nothing to
the browser's history.
"""

from dataclasses import dataclass, replace

import streamlit as st

from profiler_core.ui.dossier.address import closed_at_ms
from profiler_core.ui.timeline.address import PARAMETERS, Address, read_address
from profiler_core.ui.timeline.component import last_told

_MEMORY = "fs_timeline_memory"


@dataclass(frozen=True)
class Memory:
    """One for a session."""

    runs: tuple[str, ...]  # keys of the runs that the address is about
    address: Address
    written: dict[str, str]  # our parameters as the URL last had them
    revision: int = 0  # grows when the address changes without the canvas
    n_told: int = 0  # the number of what the canvas told last


def recall(runs: tuple[str, ...]) -> Memory:
    """Where to look now, for these runs."""
    in_url = {name: st.query_params[name] for name in PARAMETERS if name in st.query_params}
    before: Memory | None = st.session_state.get(_MEMORY)
    if before is None:
        now = Memory(runs, read_address(in_url), in_url)
    elif before.runs != runs:
        # A link to other runs brings its own address; the picker leaves the old one standing,
        # where it means nothing.
        address = read_address(in_url) if in_url != before.written else Address()
        now = Memory(runs, address, in_url, before.revision + 1, before.n_told)
    else:
        now = _followed(before, in_url)
    st.session_state[_MEMORY] = now
    return now


def write(memory: Memory) -> None:
    """Put the address into the URL."""
    parameters = memory.address.parameters()
    if parameters != memory.written:
        for name in PARAMETERS:
            if name in parameters:
                st.query_params[name] = parameters[name]
            elif name in st.query_params:
                del st.query_params[name]
    st.session_state[_MEMORY] = replace(memory, written=parameters)


def set_step(step: int) -> None:
    """Align at another step; the callback of the widget."""
    before: Memory = st.session_state[_MEMORY]
    st.session_state[_MEMORY] = replace(before, address=replace(before.address, step=step))


def _followed(before: Memory, in_url: dict[str, str]) -> Memory:
    message = last_told()
    if (
        message is not None
        and message.revision == before.revision
        and message.number > before.n_told
    ):
        # The URL of this rerun may be older than what was told: two clicks in quick succession.
        step, rank = before.address.step, before.address.rank  # which the canvas does not tell
        address = replace(read_address(message.parameters), step=step, rank=rank)
        told = replace(before, address=address, n_told=message.number)
        if address.event is None or closed_at_ms() < message.number:
            return told
        # Selected, and closed before this run: the canvas has not heard of that.
        return replace(told, address=replace(address, event=None), revision=before.revision + 1)
    if in_url != before.written:
        return replace(
            before, address=read_address(in_url), written=in_url, revision=before.revision + 1
        )
    return before
