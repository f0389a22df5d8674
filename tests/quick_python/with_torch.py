"""What children of captures are forked from: torch is imported, none of its threads has begun."""

import os
import sys
from pathlib import Path

import torch
import torch._dynamo
import torch._inductor.compile_fx
from torch._logging import _internal
from torch_variables import READ_AT_IMPORT

# A script with other values needs an interpreter of its own, except for these, which are read later
# or below.
THREADS, OF_OPENMP = "TORCHINDUCTOR_COMPILE_THREADS", "OMP_NUM_THREADS"
READ_LATER = {
    "TORCH_LOGS", "TORCH_TRACE", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", THREADS, OF_OPENMP,
}  # fmt: skip
OF_TORCHRUN = ("TORCHELASTIC_", "TORCH_NCCL_")  # read when a job begins


def is_served(request):
    """Would a new interpreter have imported the same?"""
    if any((Path(folder) / "torch.py").exists() for folder in request.packages):
        return False
    is_probe = request.argv[0].endswith("probe.py")  # compiles nothing
    return is_probe or _settings(request.environment) == _OWN_SETTINGS


def prepare(request):
    """Set what the imported modules would have read."""
    sys.argv[:] = request.argv
    sys.path[0] = str(Path(request.argv[0]).parent)
    sys.path[1:1] = request.packages
    _internal.LOG_TRACE_HANDLER = None
    _internal._init_logs()
    if THREADS in request.environment:
        torch._inductor.config.compile_threads = int(request.environment[THREADS])
    if OF_OPENMP in request.environment:
        torch.set_num_threads(int(request.environment[OF_OPENMP]))


def _settings(environment):
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(READ_AT_IMPORT)
        and name not in READ_LATER
        and not name.startswith(OF_TORCHRUN)
    }


_OWN_SETTINGS = _settings(os.environ)
