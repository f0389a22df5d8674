"""Read logs in a process of their own: `python -m profiler_core.ingest.compile_log`.

Standard input: JSON with `paths`, `torch_version` and `asked`, as `read_compile_log_files` takes
them. Standard output: the CompileLog, as `ingest/apart.py` says.
"""

import sys
from pathlib import Path
from typing import Any

from profiler_core.ingest.apart import answer_parent
from profiler_core.ingest.compile_log.reader import read_compile_log_files
from profiler_core.model.compilation import CompileLog


def _read(request: dict[str, Any]) -> CompileLog:
    return read_compile_log_files(
        [Path(path) for path in request["paths"]],
        torch_version=request["torch_version"],
        requested=frozenset(request["asked"]),
    )


if __name__ == "__main__":
    sys.exit(answer_parent(_read))
