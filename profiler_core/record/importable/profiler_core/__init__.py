"""Stands in for the package where only this folder is on the path; loads the real one instead."""

import importlib.util
import sys
from pathlib import Path

_REAL = Path(__file__).resolve().parents[3]


def _load() -> None:
    spec = importlib.util.spec_from_file_location(
        "profiler_core", str(_REAL / "__init__.py"), submodule_search_locations=[str(_REAL)]
    )
    if spec is None or spec.loader is None:
        raise ImportError("the files of profiler_core are incomplete")
    module = importlib.util.module_from_spec(spec)
    sys.modules["profiler_core"] = module  # what `import profiler_core` then answers with
    spec.loader.exec_module(module)


if __name__ == "profiler_core":
    _load()
