"""The backends of torch.compile that Fusionscope knows: each file of this folder declares one.

To add one, write a file here with `BACKEND = Backend(…)` (see `../backend.py`): the variants, the
capture page, `doctor`, the agents' schema, the child and the fusion ledger all read this list.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Dict, Optional, Tuple

from ..backend import Backend

BACKENDS: Tuple[Backend, ...] = tuple(
    importlib.import_module("{}.{}".format(__name__, module.name)).BACKEND
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name)
)
BY_NAME: Dict[str, Backend] = {name: backend for backend in BACKENDS for name in backend.names}


def declared(name: Optional[str]) -> Optional[Backend]:
    """The backend of this name; None: no file declares it."""
    return BY_NAME.get(str(name))
