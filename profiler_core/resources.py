"""The files beside the package: app.py and how it is started, pages/, docs/, static files, samples.

They are top-level in the checkout and package data of the wheel; no other module distinguishes
the two.
"""

import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _root() -> Path:
    """The checkout in a checkout, `profiler_core/_bundled` in an installed wheel."""
    bundled = _PACKAGE / "_bundled"
    return bundled if bundled.is_dir() else _PACKAGE.parent


def app_file() -> Path:
    """The script that `streamlit run` starts."""
    return _root() / "app.py"


def dashboard_words(*options: str) -> list[str]:
    """The command line of a dashboard, by the interpreter that runs this.

    No module is looked for in the current folder, which may hold a streamlit.py of somebody else.
    """
    return [sys.executable, "-P", "-m", "streamlit", "run", str(app_file()), *options]


def entry_script() -> Path:
    """The script that draws every page; lies in the package, in a folder without `pages/`."""
    return _PACKAGE / "ui" / "entry.py"


def pages_directory() -> Path:
    """The folder of the page scripts."""
    return _root() / "pages"


def static_directory() -> Path:
    """Fonts and other files that the browser fetches."""
    return _root() / "static"


def docs_directory() -> Path:
    """The documentation, in Markdown."""
    return _root() / "docs"


def sample_traces_directory() -> Path:
    """The captures that ship with the product, one folder a capture."""
    return _root() / "sample_traces"
