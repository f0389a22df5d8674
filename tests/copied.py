"""A copy of the product, to which a test adds one file or one declaration."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Bytecode comes along, whose dates are kept, five seconds of a core; not what is being written.
UNFINISHED = shutil.ignore_patterns("*.pyc.*")


class Copied:
    """The product in a folder of its own; what is asked of it runs in processes of that copy."""

    def __init__(self, folder, **variables):
        self.folder = folder
        self.variables = variables
        self.package = folder / "profiler_core"
        for name in ("profiler_core", "pages"):
            shutil.copytree(ROOT / name, folder / name, ignore=UNFINISHED)

    def run(self, *words, status=0):
        """`python WORDS…`; its stdout. Fails where it ends with another status."""
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=self.folder,
            env={
                **os.environ,
                **self.variables,
                "PYTHONPATH": os.pathsep.join(
                    [str(self.folder), *filter(None, [self.variables.get("PYTHONPATH")])]
                ),
                "FUSIONSCOPE_HOME": str(self.folder / "home"),
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    def fusionscope(self, *words, status=0):
        """A verb of the command line."""
        return self.run("-m", "profiler_core", *words, status=status)
