"""What pip would do to an environment that has a torch of its own, older than the newest.

The torch is a distribution without files: pip decides by what an installation says of itself.
Nothing is installed, but what it would depend on is looked up in the package index.
"""

import json
import re
import subprocess
import venv
from pathlib import Path

import pytest

from tests.wheel import PIP, build

pytestmark = pytest.mark.matrix

TORCH = "2.6.0+cpu"
OF_TORCH = re.compile(r"torch|nvidia-c|triton")


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """The interpreter of an environment with torch 2.6, as pip sees it."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    about = packages / f"torch-{TORCH}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH}\n")
    (about / "INSTALLER").write_text("pip\n")
    (about / "RECORD").write_text("")
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


def _would_install(python: Path, requirement: str) -> dict[str, str]:
    """Name -> version of what pip would put into the environment."""
    planning = ["--python", str(python), "install", "--dry-run", "--report", "-"]
    done = subprocess.run([*PIP, *planning, requirement], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    planned = json.loads(done.stdout)["install"]
    return {item["metadata"]["name"].lower(): item["metadata"]["version"] for item in planned}


@pytest.mark.parametrize("extra", ["", "[capture]", "[dashboard]", "[ranks]", "[server]"])
def test_torch_stays_as_it_is(python, wheel, extra):
    planned = _would_install(python, f"{wheel}{extra}")
    assert "fusionscope" in planned
    assert [name for name in planned if OF_TORCH.match(name)] == []
    if extra == "[server]":
        assert len(planned) < 80  # 155 with what requirements.txt lists
        assert [name for name in planned if "jupyter" in name or name == "ipython"] == []


def test_the_check_sees_a_torch_that_is_replaced(python):
    assert _would_install(python, "torchvision")["torch"] != TORCH
