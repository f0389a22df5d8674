"""Read logs in a process of their own: `python -m profiler_core.ingest.compile_log`.

Standard input: JSON with `paths`, `torch_version` and `asked`, as `read_compile_log_files` takes
them. Standard output: the CompileLog as a pickle, written by this program for its own parent; or
JSON with `problem` and `remedy`, and exit status 2.
"""

import json
import pickle
import sys
from pathlib import Path

from profiler_core.errors import FusionscopeError
from profiler_core.ingest.compile_log.reader import read_compile_log_files


def main() -> int:
    """Read, and answer."""
    asked = json.load(sys.stdin)
    try:
        log = read_compile_log_files(
            [Path(path) for path in asked["paths"]],
            torch_version=asked["torch_version"],
            asked=frozenset(asked["asked"]),
        )
    except FusionscopeError as error:
        json.dump({"problem": error.problem, "remedy": error.remedy}, sys.stdout)
        return error.exit_status
    pickle.dump(log, sys.stdout.buffer, protocol=5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
