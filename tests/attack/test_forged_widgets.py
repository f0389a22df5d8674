"""A browser says of each widget what it likes: no page breaks by it, and nothing is changed.

By the websocket of a server that really runs: Streamlit holds no value against its widget before
the page's callbacks have read it.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state import widgets
from streamlit.runtime.state.common import WidgetMetadata

from profiler_core.page_specs import page_specs
from profiler_core.store import history
from profiler_core.ui.widget_values import allowed, check_widget_values
from tests.attack.browser_session import session
from tests.attack.conftest import RUNNER
from tests.attack.servers import COOKIE_SECRET, Dashboard
from tests.ui.test_sign_in import claims, cookie

RUNS = "baseline=sample/customcnn/eager&candidate=sample/customcnn/default"
HOSTILE = "../../../../etc/passwd\0'; DROP TABLE runs; -- <script>alert(1)</script>"


@pytest.mark.parametrize(
    ("kind", "offered", "sent", "taken"),
    [
        ("string_value", {"a"}, "a", "a"),
        ("string_value", {"a"}, HOSTILE, None),
        ("string_value", None, "typed", "typed"),
        ("string_value", None, "x" * 100_001, None),
        ("string_value", None, 5, None),
        ("string_value", None, ["a"], None),
        ("string_value", None, True, None),
        ("string_array_value", {"a", "b"}, ["b", HOSTILE, "a"], ["b", "a"]),
        ("string_array_value", {"a"}, "a", None),
        ("string_array_value", {"a"}, {"a": 1}, None),
        ("string_array_value", None, ["a"] * 10_001, None),
        ("string_array_value", None, ["a", 5, "x" * 100_001], ["a"]),
        ("double_value", None, 1.5, 1.5),
        ("double_value", None, True, None),
        ("double_value", None, float("nan"), None),
        ("double_value", None, float("inf"), None),
        ("double_value", None, "1", None),
        ("int_value", None, 3, 3),
        ("int_value", None, 3.5, None),
        ("bool_value", None, 1, None),
        ("trigger_value", None, "yes", None),
        ("json_value", None, {"any": "thing"}, {"any": "thing"}),
    ],
)
def test_only_what_a_widget_offers_is_taken(
    kind: str, offered: set[str] | None, sent: Any, taken: Any
) -> None:
    assert allowed(kind, None if offered is None else frozenset(offered), sent) == taken


def test_it_stands_between_streamlit_and_each_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the one function of Streamlit's that every widget is registered with."""
    registered: list[WidgetMetadata[Any]] = []
    monkeypatch.setattr(
        widgets, "register_widget_from_metadata", lambda data, _: registered.append(data)
    )
    check_widget_values()
    check_widget_values()  # a second time changes nothing
    widgets.register_widget(
        "id", deserializer=lambda value: value or "first", serializer=str, ctx=None,
        value_type="string_value", formatted_options=["first", "second"],
    )  # fmt: skip
    (data,) = registered
    assert [data.deserializer(text) for text in ("second", HOSTILE, None)] == [
        "second", "first", "first",
    ]  # fmt: skip


# --- every page of a server that runs ---


@pytest.fixture
def runner(api_server: Dashboard, monkeypatch: pytest.MonkeyPatch) -> str:
    """The cookie of somebody who may capture, upload and mark."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(api_server.home))
    said = claims(RUNNER, iat=time.time_ns(), origin=f"http://localhost:{api_server.port}")
    return cookie(said, COOKIE_SECRET)


def ids_of(message: Message) -> Iterator[str]:
    """The ids of all widgets in what a page sent, wherever they stand."""
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                if isinstance(inner, Message):
                    yield from ids_of(inner)
        elif field.name == "id" and isinstance(value, str) and value.startswith("$$ID"):
            yield value


def forged(widget_id: str, kind: str) -> WidgetState:
    state = WidgetState(id=widget_id)
    if kind == "text":
        state.string_value = HOSTILE
    elif kind == "selection":
        state.string_value = (
            '{"selection": {"points": [{"customdata": {"a": []}, "point_index": 1e99}, 5],'
            ' "point_indices": [-1], "rows": [-1, 1e9], "columns": ["x"], "cells": [[1e12, null]]}}'
        )
    elif kind == "texts":
        state.string_array_value.data.extend([HOSTILE, "", "x" * 5000])
    elif kind == "json":
        state.json_value = (
            '{"told": {"number": 1e999, "revision": -1, "parameters": {"step": [], "lanes": "x"}},'
            ' "words": {"a": 1}, "picked": [-1, 99],'
            ' "done": {"upload_id": "../..", "places": [-1]}}'
        )
    return state


KINDS = ("text", "selection", "texts", "json")


def rerun(page: str, states: list[WidgetState]) -> BackMsg:
    message = BackMsg()
    message.rerun_script.page_name = page
    message.rerun_script.query_string = RUNS
    message.rerun_script.widget_states.widgets.extend(states)
    return message


def ours_in(log: str) -> list[str]:
    """The ends of all tracebacks that a line of ours raised.

    Streamlit's own refuse a value of another kind than the widget's, in that session alone.
    """
    ends = []
    for traceback in log.split("Traceback (most recent call last):")[1:]:
        frames = re.findall(r'  File "([^"]+)", line (\d+), in (\S+)', traceback)
        if "profiler_core" in frames[-1][0]:
            ends.append(":".join(frames[-1]))
    return sorted(set(ends))


def runs_and_baselines(home: Path) -> tuple[Any, ...]:
    """What a choice alone changes nothing of."""
    folders = [home / name for name in ("runs", "uploads")]
    files = {str(path) for folder in folders for path in folder.glob("*")}
    reviews = [head.review_id for head in history.review_heads()]
    return files, history.baselines(), history.runs(), reviews, history.trash_contents()


@pytest.mark.parametrize("page", [spec.path for spec in page_specs()])
def test_no_page_breaks_by_forged_values(api_server: Dashboard, runner: str, page: str) -> None:
    before = runs_and_baselines(api_server.home)
    n_logged = len(api_server.log.read_text())
    with session(api_server, runner) as tab:
        drawn = tab.open(page, RUNS)
        ids = sorted({each for message in drawn for each in ids_of(message)})
        assert ids
        for kind in KINDS:
            tab.run(rerun(page, [forged(each, kind) for each in ids]))
    assert ours_in(api_server.log.read_text()[n_logged:]) == []
    assert runs_and_baselines(api_server.home) == before
