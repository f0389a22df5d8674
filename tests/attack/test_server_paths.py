"""An answer of the API names runs and files as the asker does, and never the server's folders."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from profiler_core.agents import over_http
from profiler_core.agents.tools import compare, summary
from profiler_core.door.asker import asking
from profiler_core.errors import FusionscopeError
from profiler_core.store import catalogue, history
from profiler_core.store.history import database
from profiler_core.store.history.database import HistoryUnavailable
from profiler_core.store.shown_paths import without_server_paths
from profiler_core.ui.routes import bearer
from profiler_core.ui.routes.refused_tokens import RefusedTokens
from profiler_core.ui.runs import run_list
from profiler_core.ui.sign_in.asker import asker_of
from profiler_core.ui.sign_in.by_token import visitor_by_token
from tests.attack.api import Answer, call, token_of, zip_of, zipped
from tests.attack.conftest import RUNNER, TEAM, Server
from tests.store.history.samples import redated_copy

pytestmark = pytest.mark.usefixtures("quick_modules")


@pytest.fixture
def team(server: Server, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A team's server with one recorded run."""
    monkeypatch.setattr(bearer, "_refused", RefusedTokens())
    server.is_at("127.0.0.1", TEAM)
    history.record(redated_copy(home, "c1"))
    yield server
    database.close_all()


def clean(answer: Answer, home: Path) -> str:
    text = answer.body.decode()
    assert str(home) not in text, text
    assert str(Path(__file__).resolve().parents[2]) not in text, text
    return text


def test_a_pushed_run_that_contradicts_is_named_by_its_file(
    team: Server, home: Path, tmp_path: Path
) -> None:
    other = redated_copy(tmp_path / "elsewhere", "c1", slower=2.0)
    answer = call("POST", "/api/runs", token_of(RUNNER, "upload"), zipped(other), name="mine.zip")
    assert answer.status == 422
    assert "mine.zip contradicts the run “c1.default”" in clean(answer, home)


def test_of_several_runs_the_one_is_named(team: Server, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    capture = redated_copy(folder, "c1", slower=2.0).parent
    redated_copy(folder, "c1", variant="eager")
    pushed = call("POST", "/api/runs", token_of(RUNNER, "upload"), zipped(capture), name="all.zip")
    assert pushed.status == 422
    assert "default in all.zip contradicts" in clean(pushed, home)


@pytest.mark.parametrize(
    "members",
    [
        {"c9/run.json": b"{"},
        {"c9/run.json": json.dumps({"run_id": "x" * 400, "schema_version": 1}).encode()},
        {"c9/trace.json": b'{"traceEvents": [{"ph": "X", "name": 1, "ts": "x"}]}'},
    ],
)
def test_what_cannot_be_recorded_is_named_by_its_file(
    team: Server, home: Path, members: dict[str, bytes]
) -> None:
    token = token_of(RUNNER, "upload")
    answer = call("POST", "/api/runs", token, zip_of(members), name="mine.zip")
    assert answer.status == 422
    assert "mine" in clean(answer, home)
    assert "/1" not in answer.problem


def test_a_changed_or_missing_run_is_named_by_its_id(team: Server, home: Path) -> None:
    read, gate = token_of(RUNNER, "read"), token_of(RUNNER, "gate")
    wish = {"baseline": "c1.default", "candidate": "c1.default"}
    (home / "runs" / "c1" / "default" / "run.json").write_bytes(b"{}")
    answers = [call("POST", "/api/gate", gate, wish)]
    shutil.rmtree(home / "runs" / "c1")
    answers += [
        call("POST", "/api/gate", gate, wish),
        call("GET", "/api/runs/archive", read, run="c1.default"),
    ]
    for answer in answers:
        assert answer.status == 422
        assert "c1.default" in clean(answer, home)


def test_a_database_that_goes_away_meanwhile_is_not_described(
    team: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise HistoryUnavailable(
            "The history in postgresql://fs:***@db/fs cannot be used.", remedy="Start it."
        )

    monkeypatch.setattr(history, "listed_runs", away)
    answer = call("GET", "/api/runs", token_of(RUNNER, "read"))
    assert (answer.status, "postgresql" in answer.body.decode()) == (503, False)


def test_agents_get_ids_where_the_command_line_prints_paths(team: Server, home: Path) -> None:
    from profiler_core.store.history import api_tokens

    who = visitor_by_token(api_tokens.checked_token(token_of(RUNNER, "read")))
    assert who is not None
    asker = asker_of(who)
    shutil.copytree(home / "runs" / "c1" / "default", home / "runs" / "c1" / "eager")

    async def asked(tool: object, **arguments: object) -> str:
        with asking(asker):
            return await over_http._answered(tool, arguments)  # type: ignore[arg-type]

    text = asyncio.run(asked(compare, baseline="run/c1/eager", candidate="run/c1/default"))
    assert str(home) not in text
    assert "c1/default" in text
    (home / "runs" / "c1" / "eager" / "run.json").write_bytes(b"{")
    with pytest.raises(FusionscopeError) as raised:
        asyncio.run(asked(summary, run="run/c1/eager"))
    assert str(home) not in str(raised.value)
    assert "run/c1/eager" in str(raised.value)


def test_only_the_servers_own_folders_go(home: Path) -> None:
    sent = f"{home}/runs/x"
    assert without_server_paths(f"There is no run {sent}.", [sent]) == f"There is no run {sent}."
    assert without_server_paths(f"{home}/runs/x", ["/", "x"]) == "run/x"
    text = without_server_paths(
        f"{home}/runs/c1/eager, {home}/uploads/u/1/run.json, {home}/cache/x/y.parquet and "
        f"{home}/history.sqlite3: /src/model.py and {home}"
    )
    assert text.startswith("run/c1/eager, upload/u/1/run.json, y.parquet and history.sqlite3: ")
    assert "/src/model.py" in text
    assert str(home) not in text


@pytest.mark.parametrize("name", ["höme", 'ho"me', "ho\\me"])
def test_a_folder_that_json_escapes_goes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    home = tmp_path / name
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    told = {"error": f"{home}/runs/c1/eager: {home}/jobs/x/log.txt is gone", "at": "/src/model.py"}
    for keeps_letters in (False, True):
        text = without_server_paths(json.dumps(told, ensure_ascii=not keeps_letters))
        assert json.loads(text) == {"error": "run/c1/eager: log.txt is gone", "at": "/src/model.py"}


def test_guesses_change_no_answer(home: Path) -> None:
    """Many folders in one argument would else tell which of them is the server's."""
    told = f"{home}/runs/c1/eager/run.json is no record, {home}/cache/x/y.arrow neither."
    folders = [f"/srv/{number}/home" for number in range(100)]
    for guess in (f"{home}/runs/", f"{home}/runs", f"{home}/", str(home), f"{home}/runs/c1/eager"):
        for sent in (guess, " ".join([*folders, guess]), " ".join([guess, *folders])):
            assert without_server_paths(told, [sent]) == without_server_paths(told)
    for sent in (f"{home}/runs/x", f"{home} /srv/none", f"/srv/none {home}/jobs/ " + "x" * 300):
        echo = f"There is no run “{sent[:200]}” here."
        assert without_server_paths(echo, [sent]) == echo


def test_a_route_and_a_tool_repeat_what_they_were_asked(team: Server, home: Path) -> None:
    """One that is the server's folder, and one that is not, look alike."""
    from profiler_core.store.history import api_tokens

    gate, read = token_of(RUNNER, "gate"), token_of(RUNNER, "read")
    who = visitor_by_token(api_tokens.checked_token(read))
    assert who is not None

    async def asked(**arguments: object) -> str:
        with asking(asker_of(who)):
            return await over_http._answered(compare, arguments)

    for folder in (home / "runs", home, Path("/srv/none")):
        wish = {"baseline": "c1.default", "candidate": f"{folder}/x", "same": [f"{folder}/x"]}
        limits = {
            "baseline": "c1.default",
            "candidate": "c1.default",
            "limits": {f"{folder}/x": "1"},
        }
        for body in (wish, limits):
            assert f"{folder}/x" in call("POST", "/api/gate", gate, body).problem
        assert f"{folder}/x" in call("GET", "/api/runs/archive", read, run=f"{folder}/x").problem
        with pytest.raises(FusionscopeError, match="There is no run") as refused:
            asyncio.run(asked(baseline="run/c1/default", candidate=[f"{folder}/x"]))
        assert f"{folder}/x" in str(refused.value)


@pytest.mark.parametrize(("settings", "is_told"), [(TEAM, False), ("", True)])
def test_where_a_capture_lies_is_told_on_ones_own_machine_alone(
    server: Server,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: str,
    is_told: bool,
) -> None:
    """The page Runs told whoever may delete one the server's folders."""
    server.is_at("127.0.0.1", settings)
    redated_copy(home, "c1")
    (group, *_) = catalogue.groups(catalogue.Wanted()).groups
    shown: list[str] = []
    monkeypatch.setattr(run_list.st, "html", shown.append)
    monkeypatch.setattr(run_list.st, "button", lambda *_, **__: False)
    run_list._confirm(group)
    assert (group.key in shown[0], str(home) in shown[0]) == (not is_told, is_told)
    database.close_all()
