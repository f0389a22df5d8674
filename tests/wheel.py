"""The wheel of this checkout, made without the network."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = (
    *("app.py", "setup.py", "pyproject.toml", "requirements.txt", "README.md"),
    *("fusionscope", "profiler_core", "pages", "docs", "static", "sample_traces", ".streamlit"),
)
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def build(folder: Path) -> Path:
    """The wheel, in the folder. A build writes beside what it builds, so that is a copy."""
    source = folder / "source"
    source.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            hidden = shutil.ignore_patterns("__pycache__", "_bundled")
            shutil.copytree(ROOT / part, source / part, ignore=hidden)
        else:
            shutil.copy(ROOT / part, source / part)
    quiet = ("--no-deps", "--no-index", "--no-build-isolation")
    subprocess.run([*PIP, "wheel", *quiet, "-w", str(folder), str(source)], check=True)
    shutil.rmtree(source)
    (wheel,) = folder.glob("*.whl")
    return wheel
