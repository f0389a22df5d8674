"""Which dossier is open: `?item=kernel:…` on every page that shows runs.

The address is the only place that says so, so that links, reloads and the back button agree.
"""

from collections.abc import Sequence
from urllib.parse import urlencode

import streamlit as st

from profiler_core.analysis.item import Item, kernel_item, read_item
from profiler_core.markup import Markup, render
from profiler_core.page_specs import ITEM_PARAMETER
from profiler_core.ui.links import Query

_PICKED = "fs_item_was_picked"  # by a widget, which keeps showing what was picked
_N_CLOSED = "fs_items_closed"
_CLOSED_AT = "fs_item_closed_at_ms"
_EARLIER = ("kernel", "group")  # parameters of links of earlier versions


def item_in_url() -> Item | None:
    """What the open dossier is about; None: none is open."""
    parameters = st.query_params
    if ITEM_PARAMETER in parameters:
        return read_item(parameters[ITEM_PARAMETER])
    # Links of earlier versions: `kernel=NAME`, and `group=17` with the candidate in `of`.
    if kernel := parameters.get("kernel"):
        return kernel_item(kernel)
    if group := parameters.get("group"):
        return Item("group", f"{parameters.get('of', '1')}.{group}")
    return None


def filters_of(filters: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Filters of a finding as parameters of its page's address; one may have several values."""
    parameters: dict[str, list[str]] = {}
    for name, value in filters:
        parameters.setdefault(name, []).append(value)
    return parameters


def open_item(item: Item | None, *, by_link: bool = False, **more: str) -> None:
    """Open a dossier, from the callback of a table, chart or map.

    Args:
        item: what it is about; None closes what is open.
        by_link: no widget shows it as picked.
        more: further parameters of the address that change with it.
    """
    for name in _EARLIER if item is not None else (*_EARLIER, ITEM_PARAMETER):
        st.query_params.pop(name, None)
    if item is not None:
        # At once: each change of the address is a step of the back button.
        st.query_params.update({ITEM_PARAMETER: item.text, **more})
        if not by_link:
            st.session_state[_PICKED] = True
    elif more:
        st.query_params.update(more)


def pick_item(item: Item) -> None:
    """Open a dossier from a drawing, so that the page's table shows its row as picked."""
    _draw_tables_anew()
    open_item(item)


def _draw_tables_anew() -> None:
    st.session_state[_N_CLOSED] = st.session_state.get(_N_CLOSED, 0) + 1


def close_item(at_ms: int) -> bool:
    """Close the open dossier.

    Args:
        at_ms: when the browser closed it, by its clock.

    Returns:
        Whether a widget of the page still shows as picked what was closed.
    """
    was_event = "event" in st.query_params  # the timeline's selection is a dossier of its own
    st.session_state[_CLOSED_AT] = at_ms
    open_item(None)
    st.query_params.pop("event", None)
    was_picked = bool(st.session_state.pop(_PICKED, False))
    if was_picked:
        _draw_tables_anew()
    return was_picked or was_event


def closed_at_ms() -> int:
    """When a dossier was last closed, in ms of the browser's clock; 0: none was."""
    return int(st.session_state.get(_CLOSED_AT, 0))


def picking_key(name: str) -> str:
    """The key of a widget whose selection opens a dossier: another one after it was closed.

    A table tells nothing when a cell is clicked that is still selected.
    """
    return f"{name}_{st.session_state.get(_N_CLOSED, 0)}"


def picked_row(key: str) -> int | None:
    """The row of the cell that was picked in a table with `selection_mode="single-cell"`."""
    cells = st.session_state[key]["selection"]["cells"]
    return int(cells[0][0]) if cells else None


def with_item(query: Query, item: Item) -> dict[str, str | list[str]]:
    """URL parameters of any page, with a dossier open.

    Args:
        query: of the chosen runs, and whatever else the page keeps in its address.
        item: what the dossier is about.
    """
    return {**query, ITEM_PARAMETER: item.text}


def item_href(item: Item) -> str:
    """The address of this page as it is, with the dossier open."""
    here = {name: st.query_params.get_all(name) for name in st.query_params}
    return f"?{urlencode(with_item(here, item), doseq=True)}"


def item_link(item: Item, label: str, *, kind: str = "") -> Markup:
    """A link that opens a dossier beside the page it stands on, without loading it anew.

    Args:
        item: what the dossier is about.
        label: its text.
        kind: further classes of the style sheet.
    """
    return render(
        "page/item_link.html", item=item.text, href=item_href(item), label=label, kind=kind
    )
