"""What is written into folders that others may write into, and read from where they say."""

import os
import stat
import zipfile
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from profiler_core.errors import BadInput
from profiler_core.export.whole_file import written_aside
from profiler_core.ranks import remote


def test_no_link_with_the_name_of_a_part_is_written_through(tmp_path):
    """In /tmp, or in a checkout of somebody else's, who can guess what is exported."""
    keys = tmp_path / "keys"
    keys.write_text("mine")
    target = tmp_path / "merged.json"
    for name in (".merged.json.part", "merged.json"):
        (tmp_path / name).symlink_to(keys)
    with written_aside(target) as aside:
        assert aside.stat().st_size == 0
        aside.write_text("{}")
    assert keys.read_text() == "mine"
    assert target.read_text() == "{}" and not target.is_symlink()
    assert sorted(path.name for path in tmp_path.glob(".*")) == [".merged.json.part"]


def test_what_fails_leaves_nothing_and_says_why(tmp_path):
    with pytest.raises(ValueError, match="in the middle"), written_aside(tmp_path / "a"):
        raise ValueError("in the middle")
    (tmp_path / "file").touch()
    with pytest.raises(BadInput), written_aside(tmp_path / "file" / "a"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_backup_is_its_owners_alone_while_it_is_written_too(tmp_path, monkeypatch):
    """A file of that name that lay there would have kept its owner and its rights."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "shared"
    folder.mkdir()
    theirs = folder / ".backup.zip.part"
    theirs.touch()
    theirs.chmod(0o666)
    with theirs.open("rb") as listening:
        assert main(["backup", str(folder / "backup.zip")]) == 0
        assert listening.read() == b""
    made = folder / "backup.zip"
    assert zipfile.is_zipfile(made)
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert made.stat().st_uid == os.getuid()


@pytest.mark.parametrize("url", ["reference://::file://{}", "reference::file://{}"])
def test_no_file_of_references_is_opened(tmp_path: Path, url):
    """fsspec renders its names by Jinja, before 2025 without the sandbox."""
    file = tmp_path / "refs.json"
    file.write_text('{"version": 1, "gen": [], "refs": {"rank0.json": "{}"}}')
    with pytest.raises(BadInput, match="leads over a file of references"):
        remote.listed(url.format(file), 10)
