"""Whoever can write below a folder of `open_below` has the server read no file of its own."""

import ast
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from profiler_core import guarded_open
from profiler_core.errors import BadInput
from profiler_core.guarded_open import open_guarded
from profiler_core.ingest import kinds
from profiler_core.ingest.fingerprint import fingerprint
from profiler_core.ingest.kept_sources import read_kept_sources
from profiler_core.ingest.limits import Limits
from profiler_core.ingest.run import open_run
from profiler_core.ingest.stream import Stream
from profiler_core.jobs import service as jobs
from profiler_core.ranks import rank_sets
from profiler_core.settings import settings
from profiler_core.store import library, records, server_path
from profiler_core.ui import printed
from profiler_core.ui.runs.open_path import _keys
from tests.attack.conftest import TEAM, Server

ROOT = Path(__file__).resolve().parents[2]
RECORD = '{"schema_version": 1, "name": "x", "run_id": "x"}'


@pytest.fixture
def shared(server: Server, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that others write to; what lies there is theirs."""
    folder = tmp_path / "shared"
    folder.mkdir()
    server.is_at("127.0.0.1", f'open_below = ["{folder}"]\n{TEAM}')
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert settings().open_below == (folder,)
    return folder


def run_in(folder: Path, name: str = "run") -> Path:
    run = folder / name
    run.mkdir(parents=True)
    (run / "run.json").write_text(RECORD)
    return run


@pytest.mark.parametrize("link", ["stdout.txt", "torch_trace", "ranks/1/torch_logs.txt"])
def test_a_link_out_of_the_folder_is_not_opened(shared: Path, home: Path, link: str) -> None:
    path = run_in(shared) / link
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(home if link == "torch_trace" else home / "settings.toml")
    allowed = server_path.roots(is_local=False)
    with pytest.raises(BadInput, match="leads out of the folders"):
        library.entry(library.key_of_path(shared / "run"), allowed=allowed)
    with pytest.raises(BadInput, match="leads out of the folders"):
        _keys(str(shared), allowed)


def test_a_run_that_is_a_link_itself_is_not_opened(shared: Path, home: Path) -> None:
    run_in(shared)
    (shared / "other").symlink_to(run_in(home, "secret"))
    with pytest.raises(BadInput, match="may not be opened"):
        _keys(str(shared), server_path.roots(is_local=False))


def test_links_within_and_ones_own_are_followed(
    shared: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_in(shared)
    (run / "stdout.txt").symlink_to(shared / "run" / "run.json")
    allowed = server_path.roots(is_local=False)
    assert library.entry(library.key_of_path(run), allowed=allowed).path == run
    monkeypatch.setattr(os, "geteuid", os.getuid)
    (run / "torch_logs.txt").symlink_to(home / "settings.toml")
    assert library.entry(library.key_of_path(run), allowed=allowed).path == run


# --- while it is read ---


@contextmanager
def swapping(path: Path, other: Path) -> Iterator[None]:
    """In the block, what lies at two paths changes places as fast as it can."""
    has_ended = threading.Event()
    between = path.with_name("between")

    def swap() -> None:
        while not has_ended.is_set():
            path.rename(between)
            other.rename(path)
            between.rename(other)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def read_again_and_again(path: Path) -> set[bytes]:
    """What reading it gave within a while, without what was refused."""
    contents, until = set(), time.monotonic() + 1.0
    while time.monotonic() < until:
        with contextlib.suppress(OSError), open_guarded(path) as file:
            contents.add(file.read())
    return contents


@pytest.mark.parametrize("part", ["stdout.txt", "torch_trace", "."])
def test_no_swap_leads_to_a_file_of_the_servers(shared: Path, home: Path, part: str) -> None:
    """The file, a folder on the way to it, or the run itself becomes a link while it is read."""
    run = run_in(shared)
    (run / "torch_trace").mkdir()
    inside = run / ("torch_trace/x.log" if part == "torch_trace" else "stdout.txt")
    inside.write_text("theirs")
    own = home / "own"
    (own / "torch_trace").mkdir(parents=True)
    for name in ("stdout.txt", "torch_trace/x.log"):
        (own / name).write_text("s3cret")
    swapped = (run / part).resolve()
    link = shared / "link"
    link.symlink_to(own if part == "." else own / part)
    with swapping(swapped, link):
        contents = read_again_and_again(inside)
    assert contents == {b"theirs"}


def test_links_that_are_allowed_are_followed(shared: Path, home: Path) -> None:
    run = run_in(shared)
    (run / "stdout.txt").symlink_to("run.json")
    (shared / "latest").symlink_to("run")
    for way in (run / "stdout.txt", shared / "latest" / "stdout.txt", shared / "latest/run.json"):
        with open_guarded(way) as file:
            assert file.read() == RECORD.encode()
    (home / "plain").write_text("x")  # not below a folder of others
    (home / "link").symlink_to(home / "plain")
    with open_guarded(home / "link") as file:
        assert file.read() == b"x"


@pytest.mark.parametrize("text", ["../../home/settings.toml", "a", "/dev/zero"])
def test_links_that_lead_elsewhere_or_nowhere_are_refused(shared: Path, text: str) -> None:
    run = run_in(shared)
    (run / "a").symlink_to(text)  # "a": itself, without end
    with pytest.raises(OSError, match=r"leads out|Too many levels"):
        open_guarded(run / "a")
    os.mkfifo(run / "pipe")
    with pytest.raises(OSError, match="no plain file"):
        open_guarded(run / "pipe")


def test_who_owns_a_link_is_asked_of_the_link(
    shared: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_in(shared)
    (run / "stdout.txt").symlink_to(home / "settings.toml")
    monkeypatch.setattr(os, "geteuid", os.getuid)
    with open_guarded(run / "stdout.txt") as file:
        assert b"open_below" in file.read()


READS = [
    lambda run: records.read_record(run, may_be_alive=False)[0].run_id,
    lambda run: open_run(run).record.run_id,
    lambda run: rank_sets.record_in(run).run_id,
    lambda run: jobs.tail_of(run / "stdout.txt", 5),
    lambda run: printed._end_of(run / "stdout.txt"),
    lambda run: fingerprint(run / "stdout.txt"),
    lambda run: kinds.unpacked_head(run / "stdout.txt"),
    lambda run: list(Stream(run / "torch_logs.txt", Limits())),
    lambda run: read_kept_sources(run / "sources.json"),
]


@pytest.mark.parametrize("read", READS)
def test_each_way_to_read_a_run_asks_there(
    shared: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    run = run_in(shared)
    for name in ("stdout.txt", "torch_logs.txt", "sources.json"):
        (run / name).write_text("{}")
    opened: list[Path] = []
    real = guarded_open._opened

    def told(path: Path, *more: Any) -> Any:
        opened.append(path)
        return real(path, *more)

    monkeypatch.setattr(guarded_open, "_opened", told)
    read(run)
    assert opened


def test_no_reader_of_runs_opens_files_by_itself() -> None:
    """What stands here reads what is ours: caches, samples, what was unpacked."""
    own = {
        "profiler_core/ingest/cache_limit.py", "profiler_core/ingest/columns.py",
            "profiler_core/ingest/kept_digests.py",
        "profiler_core/ingest/memory_snapshot/columns.py",
        "profiler_core/ingest/memory_snapshot/limits.py", "profiler_core/ingest/options.py",
        "profiler_core/ranks/hta/process.py", "profiler_core/ranks/job_cache.py",
        "profiler_core/session/kept.py", "profiler_core/timeline/index.py",
        "profiler_core/timeline/cache.py",
    }  # fmt: skip
    opens = {
        path.relative_to(ROOT).as_posix()
        for stage in ("ingest", "ranks", "session", "timeline")
        for path in sorted((ROOT / "profiler_core" / stage).rglob("*.py"))
        if _opens_paths(path.read_text("utf-8"))
    }
    assert opens == own


def _opens_paths(text: str) -> bool:
    """Does a module call `open`, `read_bytes` or `read_text` of a path, or `ZipFile` of one?"""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, words = node.func.attr, [ast.unparse(word) for word in node.args]
            if name in ("read_bytes", "read_text") or (name == "open" and words[:1] == ["'rb'"]):
                return True
            if ast.unparse(node.func) == "os.open":
                return True
    return False


def test_a_file_that_others_exchange_while_it_is_read_names_nothing_elsewhere(
    shared: Path, tmp_path: Path
) -> None:
    """They could put it back before anybody looks: its columns count for this path alone."""
    mine, copy = tmp_path / "mine.json", shared / "copy.json"
    for path in (mine, copy):
        path.write_text('{"traceEvents": []}')
    (shared / "link.json").symlink_to(copy)
    assert len({fingerprint(path) for path in (mine, copy, shared / "link.json")}) == 3
