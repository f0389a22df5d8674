"""Read graphs and generated code apart: `python -m profiler_core.ingest.inductor`.

Standard input: JSON with `paths`. Standard output: the InductorLog, as `ingest/apart.py` says.
"""

import sys
from pathlib import Path
from typing import Any

from profiler_core.ingest.apart import answer_parent
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.model.inductor import InductorLog


def _read(request: dict[str, Any]) -> InductorLog:
    return read_inductor([Path(path) for path in request["paths"]])


if __name__ == "__main__":
    sys.exit(answer_parent(_read))
