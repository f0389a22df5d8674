"""A machine to capture on: this one, behind an sshd of the tests' own."""

import os
import shlex
import sys
from pathlib import Path

import pytest

from profiler_core.capture.elsewhere.plan import plan_of
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.settings import Host
from tests import quick_python
from tests.capture.conftest import SHORT, TINY
from tests.ssh_server import own_ssh_server

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """It works below `server.programs.parent / "there"`, which its processes have in TMPDIR."""
    folder = tmp_path_factory.mktemp("sshd")
    (folder / "there").mkdir()
    variables = {"TMPDIR": str(folder / "there"), **quick_python.environment()}
    with own_ssh_server(folder, variables) as running:
        yield running


@pytest.fixture
def on_path(server, monkeypatch, tmp_path):
    """ssh leads to the server."""
    monkeypatch.setenv("PATH", f"{server.programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    return server


@pytest.fixture
def project(tmp_path):
    """A user's file beside a module that it imports, far from this checkout."""
    folder = tmp_path / "it's a $(touch pwned) project"
    folder.mkdir()
    (folder / "layers.py").write_text(TINY.read_text())
    (folder / "model.py").write_text("from layers import model, raises_while_building, slow\n")
    return folder


@pytest.fixture
def plan(tmp_path):
    """`plan(workload, host=…, **spec)`: a capture there, as short as one can be."""

    def made(workload, *, host=None, variants="eager", is_code_there=False, **more):
        fields = {**SHORT, "rounds": 1, "round_steps": 1, "python": sys.executable, **more}
        spec = CaptureSpec(str(workload), variants=parse_variants(variants), **fields)
        return plan_of(
            spec, host or Host(ssh="box"), tmp_path / "runs", is_code_there=is_code_there
        )

    return made


def there(server) -> Path:
    """The folder in which the other side works."""
    return server.programs.parent / "there"


def fake_programs(tmp_path) -> Path:
    """Slurm's programs and kubectl, as fakes that run what they get, in `tmp_path / "cluster"`."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sbatch", "squeue", "scancel", "sacct", "kubectl"):
        fake = HERE / ("fake_kubectl.py" if name == "kubectl" else "fake_slurm.py")
        words = [sys.executable, "-IS", str(fake), str(tmp_path / "cluster")]
        words += [] if name == "kubectl" else [name]
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        program.chmod(0o755)
    return programs
