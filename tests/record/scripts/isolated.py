"""Runs a script where nothing can be imported but the standard library, torch and the Recorder.

python isolated.py SCRIPT ARGUMENT…
"""

import runpy
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

# What torch itself needs (its metadata); numpy, which it can do without, is not among them.
TORCH = {
    "torch", "torchgen", "functorch", "triton", "typing_extensions", "sympy", "mpmath", "networkx",
    "jinja2", "markupsafe", "fsspec", "filelock", "setuptools", "packaging", "_distutils_hack",
    "cuda", "nvidia",
}  # fmt: skip
ALLOWED = TORCH | set(sys.stdlib_module_names) | {"profiler_core", "__main__"}
refused = set()


class OnlyThese(PathFinder):
    """Stands where Python's own finder of files does, and finds nothing else."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        found = PathFinder.find_spec(name, path, target)
        root = name.partition(".")[0]
        if root in ALLOWED or root.startswith("_sysconfigdata"):
            return found
        if found is not None and "/setuptools/_vendor/" in str(found.submodule_search_locations):
            return found  # what setuptools brings along
        if found is not None and "/setuptools/_vendor/" in str(found.origin):
            return found
        refused.add(root)
        return None


# Finders of packages that are installed for editing would find more.
sys.meta_path[:] = [BuiltinImporter, FrozenImporter, OnlyThese]
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
ours = sorted(name for name in sys.modules if name.split(".")[0] == "profiler_core")
print(" ".join(ours))
print("numpy" in refused, "numpy" in sys.modules)
