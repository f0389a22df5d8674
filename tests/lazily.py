"""Modules that take seconds to import, for tests of which every worker collects all."""

import importlib
from typing import Any


class Lazily:
    """The module of this name, imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)
