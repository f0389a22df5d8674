"""`python -m profiler_core.store.history`: bring the history up to date, for the web server.

Reading traces would freeze a server's other sessions. With `--in-background` at low priority.
Standard output, one JSON object a line:
{"name", "done", "total"} while it works, then {"recorded": […], "problems": [[place, sentence]…],
"n_files_deleted"}, or {"problem", "remedy"} with exit status 2.
"""

import json
import os
import sys

from profiler_core.errors import FusionscopeError
from profiler_core.store.history.reconciliation import reconcile
from profiler_core.store.history.retention import configured_rules, delete_files, outdated

_NICE = 10


def _write(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _main() -> int:
    if "--in-background" in sys.argv[1:]:
        os.nice(_NICE)  # pages that somebody waits for go first
    try:
        found = reconcile(
            lambda name, done, total: _write({"name": name, "done": done, "total": total})
        )
        n_deleted = delete_files(outdated(configured_rules()))
    except FusionscopeError as error:
        _write({"problem": error.problem, "remedy": error.remedy})
        return error.exit_status
    _write(
        {
            "recorded": found.recorded,
            "problems": found.problems,
            "n_files_deleted": n_deleted,
        }
    )
    return 0


if __name__ == "__main__":
    sys.exit(_main())
