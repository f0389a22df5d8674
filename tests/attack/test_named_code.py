"""Page Capture looks at a file that somebody types for who may run it as the server's user alone.

Everybody who may look sees the form. Whatever the server's user can read would else tell a viewer
that it is there, and the names that it defines.
"""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.attack.conftest import RUNNER, TEAM, VIEWER, Server

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = f"allow_capture = true\n{TEAM}"
TOLD = "build_nobodys_business"


def answer_to(typed: str) -> str:
    """What the form says, once this is typed as one's own code."""
    app = AppTest.from_file(str(ROOT / "pages" / "capture.py"), default_timeout=300)
    app.run()
    app.session_state["fs_c_kind"] = "My own code"
    app.run()
    (field,) = [field for field in app.text_input if field.key == "fs_c_own"]
    field.set_value(typed).run()
    assert not app.exception
    html = " ".join(element.proto.body for element in app.get("html"))
    return html + " ".join(code.value for code in app.code)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """Somebody's, which the server's user can read."""
    file = tmp_path / "somebodys" / "model.py"
    file.parent.mkdir()
    file.write_text(f"def {TOLD}(): ...\n")
    return file


@pytest.mark.parametrize(
    ("text", "who"),
    [
        (TEAM, VIEWER),
        (TEAM, RUNNER),
        (CAPTURES, VIEWER),
        (f'runner_user = "nobody"\n{CAPTURES}', RUNNER),  # whose code could not read it
    ],
)
def test_nobody_learns_what_lies_on_the_server(
    server: Server, code: Path, text: str, who: str
) -> None:
    server.is_at("127.0.0.1", text, who)
    there, nowhere = (answer_to(f"{file}:f") for file in (code, code.with_name("none.py")))
    assert there.replace(code.name, "none.py") == nowhere
    assert TOLD not in there
    assert "cannot be read" not in nowhere


def test_nor_where_the_server_was_started_and_who_runs_it(server: Server) -> None:
    server.is_at("127.0.0.1", TEAM, VIEWER)
    for typed in ("model.py:f", "~/model.py:f", "~root/model.py:f"):
        told = answer_to(typed)
        assert str(Path.cwd()) not in told
        assert f"{Path.home()}/model" not in told


@pytest.mark.parametrize(
    ("text", "who"), [("", None), (CAPTURES, RUNNER)], ids=["own machine", "runner"]
)
def test_who_runs_it_here_is_told_what_is_wrong(
    server: Server, code: Path, text: str, who: str | None
) -> None:
    server.is_at("127.0.0.1", text, who)
    assert f"It has {TOLD}." in answer_to(f"{code}:f")
