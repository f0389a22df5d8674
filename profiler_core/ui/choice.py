"""Which runs the pages look at: session state on one side, the URL on the other.

`?baseline=KEY&candidate=KEY&candidate=KEY` (store/library.py says what a key is). Widgets bound
to query parameters do not survive links between pages, so this is done by hand: a URL that has
changed since it was last looked at wins (a link, the back button, a reload); else the session
wins and is written back, because the menu's links drop all parameters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from profiler_core.analysis.item import read_item
from profiler_core.page_specs import CANDIDATE_PARAMETER, ITEM_PARAMETER, page_specs
from profiler_core.session.comparison import Comparison
from profiler_core.store import catalogue, library, server_path
from profiler_core.store.key_parts import as_listed
from profiler_core.store.library import Entry, labels_of
from profiler_core.ui.reading import run_of
from profiler_core.ui.server import is_local_server

_BASELINE, _CANDIDATE = "baseline", "candidate"
_CHOSEN = "fs_chosen_runs"  # the keys; plain, because a widget's state dies with its page
_SEEN = "fs_seen_url"
_TOLD_OF = "fs_told_of"  # (the keys, `of`): menu links drop that too

Keys = tuple[str, ...]  # the baseline's key, then the candidates'


@dataclass(frozen=True)
class Choice:
    """The runs to look at. Never the same run twice."""

    baseline: Entry
    candidates: tuple[Entry, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Baseline first."""
        return (self.baseline, *self.candidates)

    @cached_property
    def comparison(self) -> Comparison:
        """What is known of the runs: pages ask here.

        Raises:
            NotARun: nothing that can be read lies at one of them any more.
        """
        return Comparison([run_of(entry) for entry in self.entries], self.labels)

    @property
    def query(self) -> dict[str, str | list[str]]:
        """The URL parameters that open this choice on any page, with the candidate told of."""
        query = query_of(tuple(entry.key for entry in self.entries))
        of = of_in_url()
        is_one = of is not None and of <= len(self.candidates)
        named = {CANDIDATE_PARAMETER: str(of)} if is_one and len(self.candidates) > 1 else {}
        return {**query, **named}

    @property
    def labels(self) -> tuple[str, ...]:
        """A short, distinct name for each entry: its variant, with more where variants repeat."""
        return labels_of(self.entries)


def chosen_keys() -> Keys:
    """What is chosen now; without a choice the first comparison. Empty: there is nothing."""
    in_url = keys_in_url()
    if in_url and in_url != st.session_state.get(_SEEN):
        choose(in_url)
        st.session_state[_SEEN] = in_url
    keys: Keys = st.session_state.get(_CHOSEN, ())
    return keys or catalogue.first()


def choose(keys: Keys) -> None:
    """Look at these runs from now on.

    Filters of pages are of the runs that they were set for: with none of these left they go.
    """
    before: Keys = st.session_state.get(_CHOSEN, ())
    if before and not set(before) & set(keys):
        in_link = keys_in_url() == keys  # and what stands beside them there is meant for them
        for name in _filters():
            st.session_state.pop(name, None)
            if not in_link and name in st.query_params:
                del st.query_params[name]
    st.session_state[_CHOSEN] = tuple(dict.fromkeys(keys))


def _filters() -> set[str]:
    """Parameters of the pages that show the chosen runs."""
    return {name for spec in page_specs() if spec.has_dossier for name in spec.parameters}


def open_choice(keys: Keys) -> Choice:
    """The entries behind the keys.

    Raises:
        BadInput: a key names no run.
    """
    entries = [entry_of(key) for key in keys]
    return Choice(baseline=entries[0], candidates=tuple(entries[1:]))


def entry_of(key: str) -> Entry:
    """The run that a URL names, below the folders that this server may open.

    Raises:
        BadInput: there is no such run here.
    """
    return library.entry(key, allowed=server_path.roots(is_local=is_local_server()))


def of_in_url() -> int | None:
    """Place in the comparison of the candidate that the address names; None: it names none."""
    text = st.query_params.get(CANDIDATE_PARAMETER, "")
    is_number = text.isascii() and text.isdigit() and len(text) < 6
    return int(text) or None if is_number else None


def write_url(keys: Keys) -> None:
    """Put the choice into the address; other parameters of the page stay."""
    of = _of_candidate_before(keys)
    if keys_in_url() != keys:
        item = read_item(st.query_params.get(ITEM_PARAMETER, ""))
        before = set(keys_in_url())
        if item is not None and (item.is_of_run or (before and not before & set(keys))):
            del st.query_params[ITEM_PARAMETER]  # of the runs that were chosen before
        elif item is not None and item.of is not None:
            st.query_params[ITEM_PARAMETER] = item.named.text  # its candidate has another place
        # At once: each change is a step of the back button.
        st.query_params.update({**query_of(keys), **({CANDIDATE_PARAMETER: of} if of else {})})
        if len(keys) < 2 and _CANDIDATE in st.query_params:
            del st.query_params[_CANDIDATE]
        if not of:
            st.query_params.pop(CANDIDATE_PARAMETER, None)
    st.session_state[_SEEN] = keys
    st.session_state[_TOLD_OF] = (keys, st.query_params.get(CANDIDATE_PARAMETER, ""))


def _of_candidate_before(keys: Keys) -> str:
    """`of` for these runs: the same candidate as on the page before, at its new place if it moved.

    "" where the candidate is none of them, or none was named.
    """
    in_url, here = keys_in_url(), st.query_params.get(CANDIDATE_PARAMETER, "")
    if not in_url:  # as links of the menu have it
        before_keys, before = st.session_state.get(_TOLD_OF, ((), ""))
        return here or (before if before_keys == keys else "")
    if in_url == keys:
        return here
    of = of_in_url()
    key = in_url[of] if of is not None and of < len(in_url) else ""
    return str(keys.index(key)) if key in keys[1:] else ""


def query_of(keys: Keys) -> dict[str, str | list[str]]:
    """URL parameters for these keys."""
    query: dict[str, str | list[str]] = {_BASELINE: keys[0]} if keys else {}
    if len(keys) > 1:
        query[_CANDIDATE] = list(keys[1:])
    return query


def keys_in_url() -> Keys:
    """The runs that the address names; empty where it names none."""
    return keys_of({name: st.query_params.get_all(name) for name in (_BASELINE, _CANDIDATE)})


def keys_of(parameters: Mapping[str, Sequence[str]]) -> Keys:
    """The runs that an address with these parameters names; empty where it names none."""
    baseline = parameters.get(_BASELINE) or ("",)
    if not baseline[-1]:  # of several the last one counts, as Streamlit has it
        return ()
    return tuple(dict.fromkeys(map(as_listed, (baseline[-1], *parameters.get(_CANDIDATE, ())))))
