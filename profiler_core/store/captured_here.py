"""Whether a run was captured here: only then may a click run the code that its run.json names.

What another machine sends, an upload holds or an import copies is anybody's word. Of a run of ours
three things hold: the marker of imports stands nowhere above it, `capture.json` lies beside it,
which the launcher writes and no import brings, and that asks for the run's very spec and variant.
The last two keep homes that are older than the marker, in which imports lie without it.
What `runner_user` captured has a `capture.json` by the server (`jobs/vouched.py`), which counts as
long as that user captures: its code may lie where that user can change it.
"""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from profiler_core import run_directory as names
from profiler_core.jobs.vouched import RUNNER
from profiler_core.model.run import RunRecord
from profiler_core.settings import settings
from profiler_core.store.key_parts import decode_part
from profiler_core.store.library import is_folder_name, own_key, roots

_CAPTURED_HERE = ("run", "sample")
_LARGEST_BYTES = 1 << 20  # of a capture.json
# Of a spec what a run need not share with its capture: some workloads train though nobody asked,
# and each version of `--against` is a run of its own file alone. A click takes neither over.
_OF_THE_RUN = ("training", "against")


def is_captured_here(key: str) -> bool:
    """Whether a capture of this library made the run, or it is a sample.

    Not: an upload, an import, what came from another machine, an artifact of the history, or a path
    outside of the library.
    """
    return _capture_of(key) is not None


def is_of_own_code(record: RunRecord, keys: Collection[str]) -> bool:
    """Whether captures of this library made all of these runs, one of them of what a record names.

    Args:
        record: of one of them; its spec and variant are those that the capture was asked for.
        keys: of the runs that are looked at.
    """
    return spec_asked_for(record, keys) is not None


def spec_asked_for(record: RunRecord, keys: Collection[str]) -> dict[str, Any] | None:
    """The spec of the capture that made such a run, by its `capture.json`; None: there is none.

    Of what the run's own file says it has `training` alone. Arguments as of `is_of_own_code`.
    """
    captures = [_capture_of(key) for key in keys]
    if None in captures:
        return None
    asked = next((c for c in captures if c is not None and _asks_for(c, record)), None)
    own = {name: record.spec[name] for name in _OF_THE_RUN if name in record.spec}
    return None if asked is None else {**asked, **own}


def _asks_for(capture: Mapping[str, Any], record: RunRecord) -> bool:
    variants = capture.get("variants")
    if not isinstance(variants, list) or record.variant not in variants:
        return False
    both = capture.keys() & record.spec.keys() - set(_OF_THE_RUN)
    return "workload" in both and all(capture[name] == record.spec[name] for name in both)


def _capture_of(key: str) -> dict[str, Any] | None:
    """What the run's capture was asked for; None: no capture of this library made the run."""
    prefix, *encoded = own_key(key).split("/")
    parts = [decode_part(part) for part in encoded]
    if prefix not in _CAPTURED_HERE or not 1 <= len(parts) <= 2:  # deeper lies what a run holds
        return None
    if not all(map(is_folder_name, parts)):
        return None
    capture, run = roots()[prefix] / parts[0], roots()[prefix].joinpath(*parts)
    if any(os.path.lexists(folder / names.IMPORTED) for folder in (capture, run)):
        return None
    asked = _asked_for(capture / names.CAPTURE_JSON)
    runner = None if asked is None else asked.get(RUNNER)
    return asked if runner is None or runner == settings().runner_user else None


def _asked_for(file: Path) -> dict[str, Any] | None:
    try:
        if file.is_symlink() or file.stat().st_size > _LARGEST_BYTES:
            return None
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
