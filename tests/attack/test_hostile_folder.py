"""The command line in a folder of somebody else's, who has left modules there."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from profiler_core.capture import start_variant
from profiler_core.capture.spec import CaptureSpec, VariantSpec
from profiler_core.capture.start_variant import ProcessPaths
from tests.ranks.conftest import a_trace_file

__all__ = ["a_trace_file"]

ROOT = Path(__file__).resolve().parents[2]
# As pip writes the command `fusionscope`: its own folder is on the path, the current one is not.
COMMAND = """
import sys
from profiler_core.cli.main import main
if __name__ == "__main__":
    sys.exit(main())
"""
THEIRS = "open({witness!r}, 'a').write(__name__)\nraise ImportError(__name__)\n"


def test_ranks_are_read_by_no_module_of_the_folder_where_they_lie(tmp_path, a_trace_file):
    """multiprocessing starts its processes by `python -c`, which looks in the current folder."""
    job, witness = tmp_path / "job", tmp_path / "witness"
    for rank in range(4):
        a_trace_file(job / f"rank{rank}.json.gz", rank=rank, world=4)
    for name in ("multiprocessing", "pickle", "tempfile", "sitecustomize", "polars"):
        (job / f"{name}.py").write_text(THEIRS.format(witness=str(witness)))
    command = tmp_path / "bin" / "fusionscope"
    command.parent.mkdir()
    command.write_text(COMMAND)
    environment = {
        "PYTHONPATH": str(ROOT), "FUSIONSCOPE_HOME": str(tmp_path / "home"), "PYTHONSAFEPATH": "",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(command), "ranks", ".", "--processes", "2"],
        cwd=job, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not witness.exists(), witness.read_text()
    assert done.returncode == 0, done.stderr
    assert "4 ranks" in done.stdout


@pytest.mark.parametrize(
    ("workload", "is_safe"), [("customcnn", True), ("net.py:build", False), ("net.py", False)]
)
def test_what_a_built_in_workload_starts_looks_for_no_module_here(
    tmp_path, monkeypatch, workload, is_safe
):
    """torch 2.15 runs `python -c "from ctypes import cdll"` before Inductor compiles for a CPU."""
    (tmp_path / "ctypes.py").write_text(THEIRS.format(witness=str(tmp_path / "witness")))
    environments = []
    monkeypatch.setattr(start_variant, "Child", lambda *words: environments.append(words[2]))
    context = SimpleNamespace(
        spec=CaptureSpec(workload), interpreter=SimpleNamespace(executable="python", log_names=()),
        device="cpu", look=None, selection=None,
    )  # fmt: skip
    paths = ProcessPaths(*[tmp_path] * 5)
    start_variant.start_process(context, VariantSpec(), paths)
    (environment,) = environments
    asked = [sys.executable, "-c", "from ctypes import cdll"]
    subprocess.run(asked, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert (tmp_path / "witness").exists() != is_safe
