"""What a visitor looks at: filters go with the runs that they were set for."""

import pytest
import streamlit as st

from profiler_core.ui import choice


@pytest.fixture
def visit(monkeypatch):
    """A session whose address is a plain dictionary."""

    class Address(dict):
        def get_all(self, name):
            value = self.get(name, [])
            return value if isinstance(value, list) else [value]

    state, address = {}, Address()
    monkeypatch.setattr(st, "session_state", state)
    monkeypatch.setattr(st, "query_params", address)
    choice.choose(("run/one/eager", "run/one/default"))
    state.update(change="time lost", find="relu", other=1)
    address.update(change="time lost")
    return state, address


def test_other_runs_are_seen_without_the_filters_of_the_ones_before(visit):
    """ "0 of 5 groups" of another comparison stood there, by a filter set an hour before."""
    state, address = visit
    choice.choose(("run/two/eager", "run/two/default"))
    assert "change" not in state
    assert "find" not in state
    assert "change" not in address
    assert state["other"] == 1


def test_another_candidate_keeps_them(visit):
    state, address = visit
    choice.choose(("run/one/eager", "run/one/reduce-overhead"))
    assert (state["change"], address["change"]) == ("time lost", "time lost")


def test_a_link_to_other_runs_brings_its_own(visit):
    state, address = visit
    address.update(baseline="run/two/eager", candidate=["run/two/default"])
    choice.choose(("run/two/eager", "run/two/default"))
    assert "change" not in state
    assert address["change"] == "time lost"
