"""A team's server below a path of its name, behind the shipped nginx: programs get through."""

import random
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from profiler_core.agents.tools import TOOLS
from profiler_core.store.history import database
from tests.attack.api import token_of, zipped
from tests.attack.conftest import RUNNER, TEAM
from tests.attack.servers import STREAMLIT, dashboard
from tests.operate.nginx import NAME, nginx
from tests.quick_python import variables
from tests.store.history.samples import redated_copy

BASE = "/fusionscope"


@pytest.fixture(scope="module")
def below(
    tmp_path_factory: pytest.TempPathFactory, quick_python: Path
) -> Iterator[tuple[str, Path]]:
    """(the address, the home) of a running one."""
    folder, home = tmp_path_factory.mktemp("below"), tmp_path_factory.mktemp("below-home")
    (home / "settings.toml").write_text(TEAM)
    command = (*STREAMLIT, "--server.baseUrlPath=fusionscope", f"--browser.serverAddress={NAME}")
    with (
        dashboard(folder, home, command, base=BASE, **variables(quick_python)) as running,
        nginx(tmp_path_factory.mktemp("nginx"), [running.port], f"{BASE}/") as (_, secure),
    ):
        yield f"https://127.0.0.1:{secure}{BASE}", home


@pytest.fixture
def token(below: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(below[1]))
    yield token_of(RUNNER, "read", "upload")
    database.close_all()


def headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "Host": NAME}


def test_agents_ask_below_a_base_path(below: tuple[str, Path], token: str) -> None:
    async def talk() -> tuple[set[str], str]:
        async with httpx2.AsyncClient(
            headers=headers(token), timeout=120, verify=False
        ) as http_client:
            url = f"{below[0]}/api/mcp"
            async with Client(streamable_http_client(url, http_client=http_client)) as client:
                tools = await client.list_tools()
                answer = await client.call_tool("list_runs", {"contains": "customcnn"})
        return {tool.name for tool in tools.tools}, answer.content[0].text  # type: ignore[union-attr]

    names, listed = anyio.run(talk)
    assert names == {tool.__name__ for tool in TOOLS}
    assert "sample/customcnn/eager" in listed


def test_runs_are_pushed_below_a_base_path(
    below: tuple[str, Path], token: str, tmp_path: Path
) -> None:
    run = redated_copy(tmp_path, "c1")
    (run / "x.bin").write_bytes(random.Random(1).randbytes(1_500_000))  # only runs may be so large
    with httpx2.Client(headers=headers(token), timeout=120, verify=False) as client:
        pushed = client.post(f"{below[0]}/api/runs?name=c1.zip", content=zipped(run))
        assert pushed.status_code == 200, pushed.text
        listed = client.get(f"{below[0]}/api/runs")
        assert [row["run_id"] for row in listed.json()["runs"]] == ["c1.default"]
