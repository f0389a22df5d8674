"""What the tests of pages have in common."""

import pytest


@pytest.fixture(autouse=True)
def _unasked_machine(unasked_machine: None) -> None:
    """No page asks an interpreter what it has."""


@pytest.fixture(autouse=True)
def _quick_modules(quick_modules: None) -> None:
    """What a page starts is a fork."""
