import shutil
from pathlib import Path

import pytest

from profiler_core.errors import BadInput, NotARun
from profiler_core.store import library, server_path


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    return home


def test_without_a_decision_the_users_home_is_open_on_a_local_server_only(home, tmp_path):
    assert server_path.roots(is_local=True) == (tmp_path / "user",)
    assert server_path.roots(is_local=False) == ()


def test_the_owners_decision_holds_on_any_server(home):
    (home / "settings.toml").write_text('open_below = ["/data/traces"]')
    (root,) = server_path.roots(is_local=False)
    assert str(root).endswith("/data/traces")


def test_a_trace_below_a_root_opens_by_its_key(tmp_path):
    root = tmp_path.resolve()
    (root / "my traces").mkdir()
    trace = root / "my traces" / "run+1.json"
    trace.write_text('{"traceEvents": []}')
    entry = library.at_path(server_path.resolve(str(trace), (root,)))
    assert entry.key.startswith("path/")
    assert entry.is_readable
    assert library.entry(entry.key, allowed=(root,)).path == trace
    with pytest.raises(BadInput):
        library.entry(entry.key)  # the same key on a server that allows nothing


def test_what_lies_outside_looks_like_what_does_not_exist(tmp_path):
    root = (tmp_path / "open").resolve()
    root.mkdir()
    (tmp_path / "secret.json").write_text("{}")
    (root / "link").symlink_to(tmp_path / "secret.json")
    messages = set()
    for text in ("../secret.json", "../nothing.json", str(root / "link"), "/etc/passwd"):
        with pytest.raises(BadInput) as error:
            server_path.resolve(text, (root,))
        messages.add(error.value.problem.split(" ", 1)[1])
        assert "upload the files" in error.value.remedy  # a way on
        assert "open PATH" in error.value.remedy
    assert messages == {"may not be opened."}


@pytest.mark.parametrize("text", ["", "  ", "a\0b", "~nobody-here/x", "\udcff", "x" * 5000])
def test_no_path_is_a_sentence(tmp_path, text):
    with pytest.raises(BadInput):
        server_path.resolve(text, (tmp_path.resolve(),))


@pytest.mark.parametrize("packed", [False, True])
def test_folders_of_rank_traces_open_as_runs(home, tmp_path, packed):
    for job in ("eager", "compiled"):
        for rank in (0, 1):
            file = tmp_path / "traces" / job / f"rank{rank}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text('{"schemaVersion": 1, "traceEvents": []}')
    if packed:  # its two jobs are no single run, and nothing names a part of an archive
        archive = shutil.make_archive(str(tmp_path / "jobs"), "zip", tmp_path / "traces")
        with pytest.raises(NotARun, match=r"jobs.zip holds 2 jobs \(compiled, eager\)"):
            server_path.runs_below(Path(archive))
        return
    found = server_path.runs_below(tmp_path / "traces")
    assert [path.name for path in found] == ["compiled", "eager"]
    entry = library.at_path(found[1])
    assert (entry.run.world_size, entry.path) == (2, found[1])
    assert library.entry(entry.key, allowed=(tmp_path.resolve(),)).run.world_size == 2


def test_the_folder_of_a_capture_gives_its_runs(tmp_path):
    for variant in ("eager", "default"):
        folder = tmp_path / "capture" / variant
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
    found = server_path.runs_below(tmp_path / "capture")
    assert [path.name for path in found] == ["default", "eager"]
    with pytest.raises(NotARun):
        server_path.runs_below(tmp_path)
