"""Scripts that record themselves, each run in a process of its own."""

import os
from pathlib import Path

from profiler_core.capture.handover import IMPORTABLE

SCRIPTS = Path(__file__).resolve().parent / "scripts"


def environment(**more):
    """Of a script in a user's environment: only the Recorder's folder is on the path.

    With `quick_python.ENVIRONMENT` in `more`, it can be forked from one that has imported torch.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "FUSIONSCOPE"))}
    return {**inherited, "PYTHONPATH": str(IMPORTABLE), "OMP_NUM_THREADS": "1", **more}
