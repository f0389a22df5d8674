"""A server that starts puts what it finds into the history, and ends what it has started."""

import ast
import logging
import subprocess
import sys
import time

import anyio

from profiler_core.page_specs import page_specs
from profiler_core.store import history
from profiler_core.store.history import database
from profiler_core.ui.startup import import_pages, lifespan
from tests.store.history.samples import redated_copy

FOUND_TIMEOUT_S = 240.0


def test_runs_that_are_here_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    redated_copy(tmp_path, "c1")

    async def serve() -> None:
        async with lifespan(None):  # type: ignore[arg-type]
            deadline = time.monotonic() + FOUND_TIMEOUT_S
            while history.n_runs() == 0:
                assert time.monotonic() < deadline
                await anyio.sleep(0.1)

    anyio.run(serve)
    assert history.run("c1.default").workload == "breaky"
    database.close_all()


def test_a_server_that_ends_at_once_waits_for_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    redated_copy(tmp_path, "c1")

    async def serve() -> None:
        async with lifespan(None):  # type: ignore[arg-type]
            pass

    started = time.monotonic()
    anyio.run(serve)
    assert time.monotonic() - started < FOUND_TIMEOUT_S
    assert history.reconcile().recorded in (("c1.default",), ())
    database.close_all()


def test_what_pages_import_is_there_before_the_first_visitor():
    """In an interpreter of its own: this one has imported everything."""
    code = (
        "import sys\n"
        "from profiler_core.ui.startup import import_pages\n"
        "import_pages()\n"
        "print(*sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    modules = set(answer.stdout.split())
    for spec in page_specs():
        for node in ast.walk(ast.parse(spec.file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.module in modules, (spec.name, node.module)
    assert not {"torch", "hta"} & modules


def test_a_broken_page_stops_no_server(tmp_path, monkeypatch, caplog):
    (tmp_path / "broken.py").write_text("from profiler_core import")
    monkeypatch.setattr("profiler_core.page_specs.pages_directory", lambda: tmp_path)
    with caplog.at_level(logging.WARNING):
        import_pages()
    assert "broken.py" in caplog.text


def test_the_first_visit_pays_for_nothing_that_comes_once():
    """In an interpreter of its own: this one has drawn, and read, before."""
    code = (
        "import gc, inspect, sys\n"
        "from profiler_core.ui.startup import get_ready\n"
        "get_ready()\n"
        "n_looked_through = len(gc.get_objects())\n"
        "from profiler_core.ingest import formats\n"
        "from profiler_core.session.kept import code_version\n"
        "from profiler_core import markup\n"
        "print(formats.file_kinds.cache_info().currsize, code_version.cache_info().currsize,\n"
        "      len(markup._environment().cache), len(inspect.modulesbyfile) > 1000,\n"
        "      n_looked_through)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    *counts, has_files, n_looked_through = answer.stdout.split()
    assert counts[:2] == ["1", "1"]
    assert int(counts[2]) >= 5  # templates of pages
    assert has_files == "True"
    assert int(n_looked_through) < 10_000  # by Streamlit after each run; over 200 000 are alive
