"""The columns of a snapshot in the cache: one Arrow file a table, in a folder made by renaming."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from profiler_core.ingest.fingerprint import columns_folder
from profiler_core.model.memory_snapshot import SNAPSHOT_SCHEMAS, MemorySnapshot

# Raise it whenever the tables, their columns or their meaning change.
_SCHEMA_VERSION = 1
_META = "meta.json"


def folder_of(path: Path) -> Path:
    """Where the columns of this snapshot lie, or will lie once it is read.

    Raises:
        BadInput: there is no such file.
    """
    return columns_folder(path, "snapshots", _SCHEMA_VERSION)


def write(folder: Path, tables: Mapping[str, pl.DataFrame], settings: Mapping[str, Any]) -> None:
    """Put the columns at `folder`; another process that was faster wins.

    Raises:
        OSError: the disk is full or not writable.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for name, frame in tables.items():
            frame.write_ipc(scratch / f"{name}.arrow")
        (scratch / _META).write_bytes(msgspec.json.encode(dict(settings)))
        if load(folder, "") is None:
            shutil.rmtree(folder, ignore_errors=True)
            scratch.rename(folder)
    except OSError:
        if load(folder, "") is None:
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def load(folder: Path, source: str) -> MemorySnapshot | None:
    """The snapshot whose columns lie at `folder`; None where they are absent or damaged."""
    try:
        settings = msgspec.json.decode((folder / _META).read_bytes())
        frames = {name: pl.read_ipc(folder / f"{name}.arrow") for name in SNAPSHOT_SCHEMAS}
    except (OSError, msgspec.DecodeError, pl.exceptions.PolarsError):
        return None
    if any(dict(frames[name].schema) != schema for name, schema in SNAPSHOT_SCHEMAS.items()):
        return None
    return MemorySnapshot(source=source, settings=settings, **frames)
