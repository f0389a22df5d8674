"""A backup may come from anybody: one that is no backup ends in a sentence, and leaves nothing."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from profiler_core.errors import BadInput
from profiler_core.store.backup import restore
from profiler_core.store.backup.vaults import source_of
from profiler_core.store.history import database
from profiler_core.store.history.dump import HEAD

END = '{"n_rows":{"runs":1}}'
NO_ROWS = '{"n_rows":{}}'


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    database.close_all()


def head(tables: object, schema: str = HEAD) -> str:
    return json.dumps({"schema": schema, "tables": tables})


def backup_of(folder: Path, rows: str, *files: tuple[str, dict[str, Any]]) -> Path:
    """A .zip of these rows, and of files with two bytes whose entries are changed so."""
    entries = []
    with zipfile.ZipFile(folder / "backup.zip", "w") as archive:
        for path, content, changes in [
            ("history.jsonl", rows.encode(), {}),
            *((path, b"{}", changes) for path, changes in files),
        ]:
            archive.writestr(f"files/{path}", content)
            sha256 = hashlib.sha256(content).hexdigest()
            entry = {"path": path, "n_bytes": len(content), "sha256": sha256, "mtime_ns": 0}
            entries.append(entry | changes)
        manifest = {"format": 1, "made_at": "", "version": "1", "n_rows": {}, "files": entries}
        archive.writestr("manifest.json", json.dumps(manifest))
    return folder / "backup.zip"


@pytest.mark.parametrize(
    "rows",
    [
        "", "[]", '{"tables":{}}', "[" * 100_000,
        json.dumps({"schema": HEAD}) + "\n{}",
        head([]) + "\n{}",
        head({}, "../../x") + "\n{}",
        head({"runs": 5}) + '\n["runs",1]\n' + END,
        head({"runs": ["nope"]}) + '\n["runs",1]\n' + END,
        head({"runs": ["run_id"]}) + '\n["runs",1,2,3]\n' + END,
        head({"runs": ["run_id"]}) + '\n["runs",null]\n' + END,
        head({}) + "\n[]\n" + NO_ROWS,
        head({}) + '\n[{"a":1}]\n' + NO_ROWS,
        head({}) + "\n" + "[" * 100_000,
    ],
)  # fmt: skip
def test_rows_that_are_none(home: Path, tmp_path: Path, rows: str) -> None:
    with pytest.raises(BadInput):
        restore(source_of(backup_of(tmp_path, rows)))
    assert not list(home.rglob("run.json"))


def test_a_time_that_no_file_can_have(home: Path, tmp_path: Path) -> None:
    odd = backup_of(tmp_path, head({}) + "\n" + NO_ROWS, ("runs/a/run.json", {"mtime_ns": 10**30}))
    with pytest.raises(BadInput, match="damaged"):
        restore(source_of(odd))
    assert not list(home.rglob("run.json"))


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "/etc/x",
        "runs/../../x",
        "jobs/x/spec.json",
        "orders/x",
        "signed_out/x",
        "cache/x",
        "runs/.elsewhere-x/shared",
        "uploads/.incoming/x/0.data",
        "runs/a/.x/y",
    ],
)
def test_no_file_goes_where_no_backup_puts_one(home: Path, tmp_path: Path, path: str) -> None:
    with pytest.raises(BadInput, match="which no backup does"):
        restore(source_of(backup_of(tmp_path, head({}) + "\n" + NO_ROWS, (path, {}))))
