"""What the wheel depends on, as setup.py declares it."""

import runpy
from pathlib import Path
from unittest import mock

_SETUP = Path(__file__).resolve().parents[1] / "setup.py"


def declared() -> dict[str, list[str]]:
    """Extra -> its requirements; those of every installation under "core"."""
    with mock.patch("setuptools.setup") as setup:
        runpy.run_path(str(_SETUP))
    arguments = setup.call_args.kwargs
    return {"core": arguments["install_requires"], **arguments["extras_require"]}


def sections() -> dict[str, list[str]]:
    """Heading of requirements.txt -> the requirements below it."""
    with mock.patch("setuptools.setup"):
        found: dict[str, list[str]] = runpy.run_path(str(_SETUP))["sections"]()
    return found
