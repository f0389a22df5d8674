"""Sets up the user's file: its folders on sys.path, its package, its working directory.

A capture must find what the file finds when its author runs it: modules beside it, `from .layers
import Net` where it lies in a package, and files named by relative paths.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any, List, Optional

from .failures import CannotRunError


def enter(workload: str, directory: Optional[str]) -> str:
    """Make the project's folder the working directory.

    Args:
        workload: a built-in's name, or `path/to/file.py:function`, relative to the launcher's
            working directory.
        directory: what the user asked for; None is the project's own folder, for a user's file.

    Returns:
        The workload, with an absolute path where it had one.
    """
    path, colon, name = workload.rpartition(":")
    is_file = ".py:" in workload
    if is_file:
        path = str(Path(path).expanduser().absolute())
        workload = path + colon + name
    folder = directory or (str(root_of(Path(path))) if is_file else None)
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as error:
            raise CannotRunError(
                "The working directory {} cannot be entered: {}.".format(folder, error.strerror),
                "Pass an existing --directory.",
            ) from None
    return workload


def root_of(path: Path) -> Path:
    """The folder that holds the file, or the outermost package around it."""
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


def load(path: str) -> Any:
    """The file as a module, imported once; as a part of its package where it lies in one."""
    file, root = Path(path), root_of(Path(path))
    parts = [part for part in file.relative_to(root).with_suffix("").parts if part != "__init__"]
    in_package = root != file.parent
    # As `python file.py` and `python -m package.module` would have them; the working directory may
    # be above both, for packages without an __init__.py.
    for folder in (str(Path.cwd()), str(root)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    if in_package:
        # Last: a module of the package may be called like one of the standard library.
        if str(file.parent) not in sys.path:
            sys.path.append(str(file.parent))
        return _of_package(path, parts)
    name = file.stem
    module = sys.modules.get(name)
    if module is not None and getattr(module, "__file__", None) == path:
        return module
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CannotRunError(
            "{} is not a Python file.".format(path), "Pass a file that ends in .py."
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _of_package(path: str, parts: List[str]) -> Any:
    module = importlib.import_module(".".join(parts))
    module_file = getattr(module, "__file__", None)
    if module_file is None or not Path(module_file).samefile(path):
        raise CannotRunError(
            "{} cannot be imported: another package is called {}, in {}.".format(
                path, parts[0], module_file or "several places"
            ),
            "Rename one of the two packages.",
        )
    return module
