"""Every test of the history runs twice: on SQLite and on a real PostgreSQL."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from profiler_core.store.history import database
from tests.store.history import postgres

_NUMBERS = itertools.count()


@pytest.fixture(scope="package", autouse=True)
def _quick(quick_python: Path) -> Iterator[None]:
    """Where `killed_in_the_middle` forks what it kills: each has imported the same before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUICK_PYTHON", str(quick_python))
        yield


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A server for the whole session. None on this machine is a failure, never a skip."""
    try:
        with postgres.running_postgres() as url:
            yield url
    except postgres.NoPostgresError as error:
        pytest.fail(str(error))


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def new_database(request: pytest.FixtureRequest) -> Callable[[str], str | None]:
    """The URL of an empty database of a kind; None for the SQLite file in the home.

    On PostgreSQL a schema: a database of its own is 45 ms of a core.
    """

    def new_database(kind: str) -> str | None:
        if kind == "sqlite":
            return None
        server = request.getfixturevalue("postgres_url")
        name = f"history_{next(_NUMBERS)}"
        engine = create_engine(
            server.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        engine.dispose()
        return f"{server}?options=-csearch_path%3D{name}"

    return new_database


@pytest.fixture
def home(
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    new_database: Callable[[str], str | None],
) -> Iterator[Path]:
    """A home of its own, and an empty database of the kind in question."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FUSIONSCOPE_PERSON", "Ada")
    monkeypatch.delenv("FUSIONSCOPE_ARTIFACTS_URL", raising=False)
    monkeypatch.delenv("FUSIONSCOPE_DATABASE_URL", raising=False)
    url = new_database(kind)
    if url is not None:
        monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", url)
    yield tmp_path / "home"
    database.close_all()
