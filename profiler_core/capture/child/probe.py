"""What the interpreter that runs this file can capture, as one marked line of JSON.

Started by file path like `main.py`: `python path/to/child/probe.py [--backends]`. Exits with 3,
and says `error`, when torch cannot be imported.
"""

import importlib
import importlib.util
import json
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any, Dict, List

MARK = "FUSIONSCOPE-PROBE "  # importing torch may print lines of its own


def probe(with_backends: bool) -> Dict[str, Any]:
    """Versions, devices, TORCH_LOGS names and the C++ compiler of this interpreter.

    Args:
        with_backends: list those of torch.compile too, which takes seconds (it imports Dynamo).
    """
    _load_package()
    try:
        import torch
    except Exception as error:  # whatever a broken installation raises is the answer
        text = (str(error).splitlines() or [""])[0]
        return {"error": "{}: {}".format(type(error).__name__, text)}
    environment = importlib.import_module("fusionscope_child.environment")
    gpus = []
    if torch.cuda.is_available():
        gpus = [environment.gpu(index) for index in range(torch.cuda.device_count())]
    return {
        "torch": str(torch.__version__),
        "torch_folder": str(Path(torch.__file__).resolve().parent),
        "stdlib_folder": sysconfig.get_paths()["stdlib"],
        "cuda": torch.version.cuda,
        "python": sys.version.split()[0],
        "python_executable": sys.executable,
        "triton": environment.version_of("triton"),
        "torchvision": environment.version_of("torchvision"),
        "transformers": environment.version_of("transformers"),
        "cpu": environment.cpu_name(),
        "gpus": gpus,
        "cxx": shutil.which(os.environ.get("CXX") or "g++") or shutil.which("clang++"),
        "log_names": environment.log_names(),
        "backends": _backends() if with_backends else None,
    }


def _backends() -> List[str]:
    variants = importlib.import_module("fusionscope_child.variants")
    return sorted(variants.known_backends())


def _load_package() -> None:
    spec = importlib.util.spec_from_file_location(
        "fusionscope_child_main", str(Path(__file__).resolve().parent / "main.py")
    )
    if spec is None or spec.loader is None:
        raise ImportError("the child's own files are incomplete")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.load_package()


if __name__ == "__main__":
    answer = probe("--backends" in sys.argv)
    sys.stdout.write("\n" + MARK + json.dumps(answer) + "\n")
    sys.exit(3 if "error" in answer else 0)
