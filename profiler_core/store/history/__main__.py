"""`python -m profiler_core.store.history`: bring the history up to date, for the web server.

Reading traces would freeze a server's other sessions. With `--in-background` at low priority.
It speaks as `worker/protocol.py` says, a run's name in each progress; the result is `Reconciled`.
"""

import os
import sys

from profiler_core.store.history.reconciliation import Reconciled, reconcile
from profiler_core.store.history.retention import apply, configured_rules, planned
from profiler_core.worker.protocol import Progress, Report, answer

_NICE = 10


def _reconcile(report: Report) -> Reconciled:
    if "--in-background" in sys.argv[1:]:
        os.nice(_NICE)  # pages that somebody waits for go first
    reconciled = reconcile(lambda name, done, total: report(Progress(done, total, text=name)))
    apply(planned(configured_rules()))
    return reconciled


if __name__ == "__main__":
    sys.exit(answer(_reconcile))
