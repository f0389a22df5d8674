"""In which module each operator of a workload runs: the models themselves, run with hooks.

    python -m tests.analysis.ledger.judge.modules FILE.json.gz

Each model of `benchmarks/judge_workloads.py` has as many layers as in its captures, and is narrow,
so that a CPU runs it in a second; what its forward calls, as `F.linear` or `+`, is written down in
order with the path of the innermost module around it. Needs torch and transformers.
"""

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode, resolve_name

import benchmarks.judge_workloads as workloads

LAYERS = 8  # what is no larger counts something; what is larger is a size
NAMES = ("llama", "t5_training", "vit_training", "dit_training", "gnn_training", "decode")


class _Watch(TorchFunctionMode):
    """Writes down which function is called inside which module."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.paths = {module: path for path, module in model.named_modules(remove_duplicate=False)}
        self.inside: list[str] = []
        self.calls: list[tuple[str, str]] = []
        self.depth = 0
        for module in model.modules():
            module.register_forward_pre_hook(lambda m, _: self.inside.append(self.paths[m]))
            module.register_forward_hook(self._leave)

    def _leave(self, *_: Any) -> None:
        self.inside.pop()

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if self.inside and self.depth == 0:
            name = resolve_name(function) or getattr(function, "__name__", str(function))
            if not name.endswith((".__get__", ".__set__")):
                self.calls.append((name, self.inside[-1]))
        self.depth += 1  # a function in Python calls others, with the mode off it is one call
        try:
            return function(*args, **(kwargs or {}))
        finally:
            self.depth -= 1


def operators_of(name: str) -> list[tuple[str, str]]:
    """(function, module path) of one forward, in order."""
    made: list[nn.Module] = []
    workloads.sized = lambda full, tiny: full if full <= LAYERS else 3 * tiny  # type: ignore[assignment]
    training = workloads._training_step

    def step(model: nn.Module, loss_of: Callable[[nn.Module], torch.Tensor]) -> Any:
        made.append(model)
        return lambda: loss_of(model)

    workloads._training_step = step  # type: ignore[assignment]
    try:
        workload = getattr(workloads, name)()
    finally:
        workloads._training_step = training
    model, run = (made[0], workload) if made else (workload[0], None)
    watch = _Watch(model)
    with watch:
        if run is not None:
            run()
        else:
            model(*workload[1])
    return watch.calls


def main() -> None:
    """Write all of them into one file."""
    with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as file:
        file.write(json.dumps({name: operators_of(name) for name in NAMES}).encode())
    for name, calls in json.loads(gzip.decompress(Path(sys.argv[1]).read_bytes())).items():
        print(name, len(calls), len({module for _, module in calls}))


if __name__ == "__main__":
    main()
