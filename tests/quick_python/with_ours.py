"""What our own processes are forked from: the modules of the checkout, and what they import.

Polars has begun no thread that a child would miss: its pool starts with the first use.
"""

import os
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BASE = sys.path[1:]
sys.path[:] = [str(ROOT), *_BASE]

from streamlit.components.v2 import manifest_scanner  # noqa: E402
from streamlit.web import bootstrap, cli  # noqa: E402, F401

from profiler_core.ui.startup import import_pages  # noqa: E402

for _name in (
    "plotly.graph_objects", "profiler_core.cli.main", "profiler_core.figures.template",
    "profiler_core.ingest.open", "profiler_core.ranks.job_cache", "profiler_core.session.run",
    "profiler_core.store.history.recording", "profiler_core.ui.routes",
):  # fmt: skip
    import_module(_name)
# Children read traces, and the verbs of the command line are imported when they are called.
for _package in ("answers", "cli", "ingest", "report"):
    for _file in sorted((ROOT / "profiler_core" / _package).rglob("*.py")):
        if not _file.name.startswith("__"):
            import_module(".".join(_file.relative_to(ROOT).with_suffix("").parts))
import_module("duckdb")
import_pages()
# A dashboard reads what all installed packages say of themselves, for a second of a core.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
manifest_scanner.scan_component_manifests()

# A process with other values needs an interpreter of its own.
READ_AT_START = ("PYTHON", "POLARS", "OMP_", "MKL_", "LD_", "MALLOC")
READ_LATER = {"PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}


def is_served(request):
    """Would a new interpreter import this checkout?"""
    folders = [request.cwd, *request.packages]
    if request.argv[:3] == ["-m", "streamlit", "run"]:  # looks first beside the script
        folders.insert(0, str(Path(request.argv[3]).parent))
    ours = next((f for f in folders if (Path(f) / "profiler_core").exists()), None)
    return (
        ours is not None
        and Path(ours).resolve() == ROOT
        and _settings(request.environment) == _OWN_SETTINGS
    )


def prepare(request):
    """Set what the interpreter's start would have set."""
    sys.argv[:] = request.argv
    sys.path[:] = [request.cwd, *request.packages, *_BASE]
    sys.executable = request.environment.get("QUICK_PYTHON", sys.executable)


def _settings(environment):
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(READ_AT_START) and name not in READ_LATER
    }


_OWN_SETTINGS = _settings(os.environ)
