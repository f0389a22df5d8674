"""Modules that take seconds to import, for tests of which every worker collects all."""

import importlib
from typing import Any

# What a collecting pytest asks of all that lies in a test's module.
_OF_PYTEST = ("__bases__", "__test__", "__wrapped__", "_mock_name")


class Lazily:
    """The module of this name, imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute in _OF_PYTEST:
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)
