"""docs/security.md names every way in, and tests that there are."""

import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.web.server.starlette.starlette_app import create_streamlit_routes

from profiler_core.agents.over_http import http_application
from profiler_core.ui.routes import all_routes

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text("utf-8")


def paths_of(routes: list[BaseRoute]) -> Iterator[str]:
    for route in routes:
        assert isinstance(route, Route | Mount | WebSocketRoute), route
        yield re.sub(r":\w+\}", "}", route.path) or "/"


def named_in(part: str) -> set[str]:
    """What stands between backquotes in the first column of a part's table."""
    section = TEXT.split(f"\n## {part}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_every_route_is_named_and_none_that_there_is_not() -> None:
    streamlits = create_streamlit_routes(MagicMock())
    there = set(paths_of(all_routes(http_application))) | set(paths_of(streamlits))
    assert named_in("Routes") == there


def test_every_message_is_named() -> None:
    fields = BackMsg.DESCRIPTOR.fields_by_name
    operations = fields["backend_operation_request"].message_type.oneofs_by_name["payload"].fields
    there = {*fields, *(field.name for field in operations)}
    assert named_in("Messages of the websocket") == there


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(tests/[^`]+)`", TEXT))))
def test_each_test_that_is_named_is_there(name: str) -> None:
    assert "def test_" in (ROOT / name).read_text("utf-8")


def test_each_row_names_a_test() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")]
    tables = [row for row in rows if not row.endswith("tried by |")]
    assert len(tables) > 40
    assert [row for row in tables if "`tests/" not in row] == []
