"""Removes from a report what must stay confidential: folders, host, user, source excerpts.

The whole tree of records is rewritten before any format is made from it, so that no format can
forget. A file keeps its own name and line ("model.py:12"), without the folders above it; a graph
break keeps its reason. Everything else of the numbers stays.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path, PurePath
from typing import Any, TypeVar

import msgspec
import numpy as np

from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.telemetry.of_ranks import RankGpu
from profiler_core.model.compilation import Frame, GuardFailure
from profiler_core.model.run import Measurement, RunRecord
from profiler_core.report.contents import Contents

HIDDEN = "(left out)"
# Keys of run.json's environment that name the machine or a place on it.
_MACHINE_KEYS = ("host", "hostname", "user", "gpu_uuid", "python_executable", "cwd", "variables")
# An absolute path with at least one folder, POSIX or Windows; not what follows "https:".
_POSIX = re.compile(r"(?<![\w:/.<])(?:~|\.{1,2})?/(?:[^\s/:'\"<>|,;()\[\]]+/)+")
# A folder of Windows often has a blank in it: C:/Users/Ada Lovelace/net.py.
_SEGMENT = r"[^\s\\/:'\"<>|]+(?: [^\s\\/:'\"<>|]+){0,2}"
_WINDOWS = re.compile(rf"(?<!\w)[A-Za-z]:[\\/](?:{_SEGMENT}[\\/])+")
_HOME = re.compile(r"(?:/home/|/Users/|\\Users\\)([^/\\\s:'\"]+)")
_SHORTEST_NAME = 3  # of a host or a user; shorter ones are parts of common words

Value = TypeVar("Value")


@dataclass(frozen=True)
class Secrets:
    """Words that must not be printed, found in the runs themselves."""

    words: tuple[str, ...]  # host and user names
    folders: tuple[str, ...]  # where the runs lie, longest first


def secrets_of(records: Iterable[RunRecord], paths: Iterable[Path]) -> Secrets:
    """Hosts, users and folders that the runs name.

    Args:
        records: of all runs.
        paths: where they lie.
    """
    words: set[str] = set()
    folders: set[str] = set()
    for path in paths:
        folders |= {str(path.resolve().parent), str(path.parent)}
    for record in records:
        for key in ("host", "hostname", "user"):
            words.add(str(record.environment.get(key) or ""))
        if record.measurement is not None:
            words.add(record.measurement.host or "")
        words.update(_HOME.findall(str(msgspec.to_builtins(record))))
    for folder in folders:
        words.update(_HOME.findall(folder))
    return Secrets(
        tuple(sorted(word for word in words if len(word) >= _SHORTEST_NAME)),
        tuple(sorted((f for f in folders if len(PurePath(f).parts) > 1), key=len, reverse=True)),
    )


def redacted(contents: Contents, secrets: Secrets | None = None) -> Contents:
    """The same report with paths, host, user and source excerpts taken out."""
    if secrets is None:
        runs = [side.run for side in contents.sides]
        secrets = secrets_of((run.record for run in runs), (run.path for run in runs))
    return replace(_Redactor(secrets).of(contents), is_redacted=True)


class _Redactor:
    def __init__(self, secrets: Secrets) -> None:
        self._folders = secrets.folders
        words = "|".join(re.escape(word) for word in secrets.words)
        self._words = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])") if words else None

    def text(self, text: str) -> str:
        for folder in self._folders:
            text = text.replace(f"{folder}/", "").replace(folder, HIDDEN)
        text = _WINDOWS.sub("", _POSIX.sub("", text))
        return self._words.sub(HIDDEN, text) if self._words else text

    def of(self, value: Value) -> Value:
        """The value with every string in it rewritten; arrays and numbers are kept as they are."""
        return self._of(value)  # type: ignore[no-any-return]

    def _of(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, int | float | np.ndarray):
            return value
        if isinstance(value, Path):
            return Path(value.name)
        if isinstance(value, Mapping):
            return {
                self._of(k): HIDDEN if k in _MACHINE_KEYS else self._of(v) for k, v in value.items()
            }
        if isinstance(value, tuple):
            return tuple(self._of(item) for item in value)
        if isinstance(value, list):
            return [self._of(item) for item in value]
        if isinstance(value, msgspec.Struct):
            if isinstance(value, Measurement):
                value = msgspec.structs.replace(value, rank_gpu_uuids=())
            named = {f: self._of(getattr(value, f)) for f in value.__struct_fields__}
            return msgspec.structs.replace(value, **named)
        if is_dataclass(value):
            return self._record(value)
        return value

    def _record(self, value: Any) -> Any:
        if isinstance(value, FusionGroup):
            value = replace(value, sources=tuple((label, "") for label, _ in value.sources))
        elif isinstance(value, Frame | GuardFailure):
            value = replace(value, code="")
        elif isinstance(value, RankGpu):
            value = replace(value, gpu_uuid=None)
        named = {f.name: self._of(getattr(value, f.name)) for f in fields(value) if f.init}
        return replace(value, **named)
