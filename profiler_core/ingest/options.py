"""What a user chose about how one file is read: the options that its format declares.

Kept by the file's content in `<home>/<format>/`, so that the page's choice holds for every later
opening; the command line's holds for the one command, and goes before it.
"""

import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from profiler_core.home import home_directory
from profiler_core.ingest.file_kind import Options, ReadOption, TraceFormat


def variable(option: ReadOption) -> str:
    """The environment's variable that holds an option for one command."""
    return f"FUSIONSCOPE_{option.name.upper()}"


def chosen(kind: TraceFormat, key: str) -> dict[str, str | int]:
    """The options for the file with this fingerprint; empty where everything is by the rule."""
    if not kind.options:
        return {}
    stored = _stored_options(kind, key)
    values = {
        option.name: _converted(option, os.environ.get(variable(option))) or stored.get(option.name)
        for option in kind.options
    }
    return {name: value for name, value in values.items() if value is not None}


def keep(kind: TraceFormat, key: str, options: Mapping[str, str | int | None]) -> None:
    """Let these options hold for the file from now on; without any, all is by the rule again.

    Raises:
        OSError: the home cannot be written.
    """
    file = _file(kind, key)
    chosen_options = {name: value for name, value in options.items() if value is not None}
    if not chosen_options:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f"{file.name}.{os.getpid()}")
    aside.write_bytes(msgspec.json.encode(chosen_options))
    aside.replace(file)


def suffix_of(options: Options) -> str:
    """What tells columns read with these options from others; empty without any."""
    if not options:
        return ""
    return f"-{zlib.crc32(repr(sorted(options.items())).encode()):08x}"


def _stored_options(kind: TraceFormat, key: str) -> dict[str, str | int]:
    try:
        values = msgspec.json.decode(_file(kind, key).read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return {}
    return {o.name: values[o.name] for o in kind.options if isinstance(values.get(o.name), o.type)}


def _converted(option: ReadOption, text: str | None) -> str | int | None:
    if not text:
        return None
    if option.type is int:
        return int(text) if text.isdecimal() else None
    return text


def _file(kind: TraceFormat, key: str) -> Path:
    return home_directory() / kind.slug / f"{key}.json"
