"""What the interpreter that runs this file can capture, as one marked line of JSON.

Started by file path like `main.py`:
`python path/to/child/probe.py [--backends] [--workload NAME] [--settings KEY,KEY]`.
Exits with 3, and says `error`, when torch cannot be imported.
"""

import importlib
import importlib.util
import json
import os
import re
import shutil
import sys
import sysconfig
import warnings
from pathlib import Path
from typing import Any, Dict, List, Optional

_WITH_VALUE = ("--workload", "--settings")
_CONFIGURED = ("inductor", "dynamo")  # torch._….config
MARK = "FUSIONSCOPE-PROBE "  # importing torch may print lines of its own


def probe(
    with_backends: bool, workload: Optional[str] = None, settings: Optional[str] = None
) -> Dict[str, Any]:
    """Versions, devices, TORCH_LOGS names and the C++ compiler of this interpreter.

    Args:
        with_backends: list those of torch.compile too, which takes seconds (it imports Dynamo).
        workload: say too why a workload of this name cannot be built; imports torchvision.
        settings: keys of Inductor's and Dynamo's configuration, and of how ranks exchange, whose
            values are wanted.
    """
    _load_package()
    importlib.import_module("fusionscope_child.channel").die_with_parent()
    about = {
        "python": sys.version.split()[0],
        "python_executable": sys.executable,
        "cxx": shutil.which(os.environ.get("CXX") or "g++") or shutil.which("clang++"),
    }
    try:
        import torch
    except Exception as error:  # whatever a broken installation raises is the answer
        return dict(about, **_why_no_torch(error))
    version = str(getattr(torch, "__version__", ""))
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < (2, 1):
        return dict(
            about,
            torch=version or None,
            error="torch {} is older than 2.1".format(version)
            if version
            else "its module torch is not PyTorch",
            remedy="Install torch 2.1 or newer there, or pass --python PATH.",
        )
    environment = importlib.import_module("fusionscope_child.environment")
    accelerator = importlib.import_module("fusionscope_child.accelerator")
    gpus = []
    if torch.cuda.is_available():
        gpus = [environment.gpu(index) for index in range(torch.cuda.device_count())]
    return {
        **about,
        "torch": version,
        "torch_folder": str(Path(torch.__file__).resolve().parent),
        "stdlib_folder": sysconfig.get_paths()["stdlib"],
        "cuda": torch.version.cuda,
        "triton": environment.version_of("triton"),
        "torchvision": environment.version_of("torchvision"),
        "transformers": environment.version_of("transformers"),
        "cpu": environment.cpu_name(),
        "gpus": gpus,
        "other_devices": {kind: accelerator.n_devices(torch, kind) for kind in ("xpu", "mps")},
        "log_names": environment.log_names(),
        "workload_refusal": _refusal(workload) if workload is not None else None,
        "settings": _settings(settings.split(",")) if settings else None,
        "abilities": _abilities("abilities") if with_backends else None,
        "torchvision_found": _abilities("torchvision") if with_backends else None,
        "engines": _backends("engines") if with_backends else None,  # first: importing registers
        "backends": sorted(_backends("known_backends")) if with_backends else None,
    }


def _abilities(question: str) -> Dict[str, Any]:
    module = importlib.import_module("fusionscope_child.abilities")
    answer: Dict[str, Any] = getattr(module, question)()
    return answer


def _refusal(workload: str) -> Optional[Dict[str, str]]:
    """Why the workload name is unknown here; None: it is known, or only building it can tell."""
    failures = importlib.import_module("fusionscope_child.failures")
    workloads = importlib.import_module("fusionscope_child.workloads")
    try:
        workloads.check_name(workload)
    except failures.CannotRunError as error:
        return {"problem": error.problem, "remedy": error.remedy}
    except Exception:  # a torchvision that is built for another torch: each variant says it
        return None
    return None


def _settings(keys: List[str]) -> Dict[str, Any]:
    """Values of the keys that this torch has; one that is no plain value as text."""
    values: Dict[str, Any] = {}
    for key in keys:
        package, _, path = key.partition(".")
        if package not in _CONFIGURED:
            values.update(importlib.import_module("fusionscope_child.exchange").known(key))
            continue
        owner: Any = importlib.import_module("torch._{}.config".format(package))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a deprecated key says so when it is read
                for part in path.split("."):
                    owner = getattr(owner, part)
        except AttributeError:
            continue
        is_plain = owner is None or isinstance(owner, (bool, int, float, str))
        values[key] = owner if is_plain else str(owner)
    return values


def _backends(question: str) -> Any:
    return getattr(importlib.import_module("fusionscope_child.installed"), question)()


def _why_no_torch(error: Exception) -> Dict[str, str]:
    if isinstance(error, ImportError) and error.name == "torch":
        return {"error": "torch is not installed"}
    text = (str(error).splitlines() or [""])[0].rstrip(".")
    return {
        "error": "torch cannot be imported: {}: {}".format(type(error).__name__, text),
        "remedy": "Install torch there anew, or pass --python PATH.",
    }


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
    words = sys.argv[1:]
    given = {flag: words[words.index(flag) + 1] for flag in words if flag in _WITH_VALUE}
    answer = probe("--backends" in words, given.get("--workload"), given.get("--settings"))
    sys.stdout.write("\n" + MARK + json.dumps(answer) + "\n")
    sys.exit(3 if "error" in answer else 0)
