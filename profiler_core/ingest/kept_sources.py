"""sources.json: the source lines that a capture kept (`capture/sources.py` writes the file)."""

import json
from pathlib import Path

from profiler_core.digits import is_natural
from profiler_core.guarded_open import open_guarded
from profiler_core.ingest.windows_paths import with_slashes

_MOST_BYTES = 16 << 20


def read_kept_sources(path: Path) -> dict[str, dict[int, str]]:
    """The kept lines of each file by their numbers from 1: {file: {line: text}}.

    What is not of that shape is left out: the file may have come with an upload. One above 16 MiB
    or without valid JSON has no lines.
    """
    if path.stat().st_size > _MOST_BYTES:
        return {}
    try:
        with open_guarded(path) as opened:
            files = json.loads(opened.read(_MOST_BYTES)).get("files", {})
    except (ValueError, AttributeError, RecursionError):
        return {}
    sources: dict[str, dict[int, str]] = {}
    for name, value in files.items() if isinstance(files, dict) else ():
        lines = value.get("lines") if isinstance(value, dict) else None
        if isinstance(lines, dict):
            sources[with_slashes(name)] = {
                int(n): str(text) for n, text in lines.items() if is_natural(n)
            }
    return sources
