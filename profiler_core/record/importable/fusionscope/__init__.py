"""Stands in for the package where only this folder is on the path; loads the real one instead.

That one imports what is asked for: the integrations need no more than the Recorder does.
"""

import importlib.util
import sys
from pathlib import Path

_REAL = Path(__file__).resolve().parents[4] / "fusionscope"


def _load() -> None:
    spec = importlib.util.spec_from_file_location(
        "fusionscope", str(_REAL / "__init__.py"), submodule_search_locations=[str(_REAL)]
    )
    if spec is None or spec.loader is None:
        raise ImportError("the files of fusionscope are incomplete")
    module = importlib.util.module_from_spec(spec)
    sys.modules["fusionscope"] = module  # what `import fusionscope` then answers with
    spec.loader.exec_module(module)


if __name__ == "fusionscope":
    _load()
