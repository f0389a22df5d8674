"""Agents over HTTP name runs by their ids: no tool follows a path of theirs on the server."""

import shutil
from pathlib import Path

import pytest

from profiler_core.agents.runs import compared, library_alone
from profiler_core.agents.tools import TOOLS
from profiler_core.errors import BadInput
from tests.store.history.samples import SAMPLES, redated_copy


@pytest.fixture
def elsewhere(home: Path, tmp_path: Path) -> Path:
    """A capture of two runs that lies outside of the library."""
    for variant in ("eager", "default"):
        run = redated_copy(tmp_path / "private", "c1", variant=variant)
    return run.parent


def test_the_folder_of_a_capture_outside_of_the_library_stays_closed(elsewhere: Path) -> None:
    assert len(compared(str(elsewhere)).sides) == 2  # on one's own machine it is opened
    with library_alone():
        with pytest.raises(BadInput) as of_there:
            compared(str(elsewhere))
        with pytest.raises(BadInput) as of_nowhere:
            compared("/no/such/folder")
    assert str(of_there.value).replace(str(elsewhere), "X") == str(of_nowhere.value).replace(
        "/no/such/folder", "X"
    )


def test_what_was_deleted_is_opened_by_no_path(home: Path) -> None:
    deleted = home / "runs" / ".trash" / "d1" / "c1"
    for variant in ("eager", "default"):
        shutil.copytree(SAMPLES / "breaky" / variant, deleted / variant)
    with library_alone():
        for name in (str(deleted), "run/.trash/d1", "run/.trash", "run/~2Etrash/d1"):
            with pytest.raises(BadInput):
                compared(name)


@pytest.mark.parametrize("form", ["{}", "file://{}", "memory://{}", "http://169.254.169.254{}"])
def test_no_tool_follows_a_path_or_an_address(elsewhere: Path, form: str) -> None:
    asked = 0
    for tool in TOOLS:
        names = tool.__annotations__.keys() & {"run", "baseline"}
        for name in names:
            arguments = {name: form.format(elsewhere)}
            if "kernel" in tool.__annotations__:
                arguments["kernel"] = "x"
            for more in ({}, {"candidate": ""}, {"candidate": []}):
                if set(more) - tool.__annotations__.keys():
                    continue
                with library_alone(), pytest.raises((BadInput, TypeError)) as refused:
                    tool(**arguments, **more)
                if refused.type is not TypeError:  # an argument that the tool needs is missing
                    assert "There is no run" in str(refused.value), tool.__name__
                    asked += 1
    assert asked >= len(TOOLS)
