"""Start of a child process: `python path/to/child/main.py SPEC.json`.

The folder of this file leaves sys.path at once, because a module of ours must never shadow
one of the user's or of the standard library with the same name; the siblings are loaded as the
package `fusionscope_child`.
"""

import importlib
import importlib.util
import json
import sys
from pathlib import Path

PACKAGE = "fusionscope_child"


def load_package() -> None:
    """Make the folder of this file importable as `fusionscope_child`, and as nothing else."""
    folder = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != folder]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, str(folder / "__init__.py"), submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError("the child's own files are incomplete")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


def main() -> int:
    """Run the launcher's commands until it sends exit or ends."""
    load_package()
    spec = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    serve = importlib.import_module(PACKAGE + ".serve")
    return int(serve.serve(spec))


if __name__ == "__main__":
    sys.exit(main())
