"""Compile each program, poison each input of its generated modules in turn, and see who writes it.

    python -m tests.analysis.ledger.executed.record FOLDER [--device cuda] [--only NAME …]

Writes FOLDER/torch_trace.log.gz (what the ledger reads) and FOLDER/truth.json: for each generated
module its calls in order with their lines, and for each float that the module is handed, the calls
that wrote something else once that input was NaN. Needs torch only; a minute of
processor time, most of it the C++ compiler's.

The generated code is run line by line: what stands before and after each call is compared. Fresh
buffers are filled with a constant, so that a write is seen even where it repeats old memory.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch._inductor.config as inductor_config
from torch import Tensor
from torch._inductor.codecache import PyCodeCache

from tests.analysis.ledger.executed.programs import PROGRAMS, Program
from tests.analysis.ledger.judge.make_pairs import cut_log

_FUNCTION = re.compile(r"(\s*)def (?:call|partition_\d+)\(")
_ARGUMENTS = re.compile(r"^\s+(\w+(?:, \w+)*),? = args$", re.M)
_NO_CALL = re.compile(
    r"\s*(?:#|del |assert|with |return|if |raw_stream|stream\d* = |args|torch\.cuda\.set_device"
    r"|\w+ = (?:empty_strided\w*|reinterpret_tensor|get_raw_stream|alloc_from_pool)\()"
)
_FILLED = 12345.0
Look = tuple[bytes, bytes]  # all of a tensor's content; what is compared between runs


@dataclass
class Module:
    """A generated module: its calls, the names of its arguments, and what a run of it wrote."""

    lines: dict[int, str]  # number in the module's text -> statement
    arguments: tuple[str, ...]
    call: Callable[[list[Any]], Any] = print
    given: list[Any] = field(default_factory=list)  # of its first run
    before: dict[str, Look] = field(default_factory=dict)
    # Of the last run: call -> buffer -> what it held after it, and whether the call changed it.
    after: dict[int, dict[str, tuple[bytes, bool]]] = field(default_factory=dict)

    def look_before(self, line: int, names: dict[str, Any]) -> None:
        """What the call's tensors hold before it."""
        self.before = self._looks(line, names)

    def look_after(self, line: int, names: dict[str, Any]) -> None:
        """Keep what they hold after it."""
        self.after[line] = {
            name: (compared, name not in self.before or self.before[name][0] != content)
            for name, (content, compared) in self._looks(line, names).items()
        }

    def _looks(self, line: int, names: dict[str, Any]) -> dict[str, Look]:
        used = set(re.findall(r"\w+", self.lines[line]))
        return {n: _look(v) for n, v in names.items() if n in used and isinstance(v, Tensor)}


def _look(tensor: Tensor) -> Look:
    whole = tensor.detach().cpu().contiguous()
    content = whole.reshape(-1).view(torch.uint8).numpy().tobytes()
    # Atomics add in any order: of floats only NaN counts.
    is_float = whole.is_floating_point()
    return content, whole.isnan().numpy().tobytes() if is_float else content


def _instrumented(loaded: ModuleType) -> Module:
    """The module's code with a look before and after each call."""
    code = Path(str(loaded.__file__)).read_text()
    statements: dict[int, str] = {}
    rows: list[str] = []
    indent = None
    for number, row in enumerate(code.splitlines(), 1):
        if function := _FUNCTION.match(row):
            indent = len(function[1])
        elif indent is not None and row.strip() and len(row) - len(row.lstrip()) <= indent:
            indent = None
        elif indent is not None and "(" in row and not _NO_CALL.match(row):
            margin = row[: len(row) - len(row.lstrip())]
            statements[number] = row.strip()
            looks = [f"{margin}_look_{when}({number}, locals())" for when in ("before", "after")]
            rows += [looks[0], row, looks[1]]
            continue
        rows.append(row)
    names = _ARGUMENTS.search(code)
    module = Module(statements, tuple(names[1].split(", ")) if names else ())
    namespace: dict[str, Any] = {
        "__name__": loaded.__name__, "__file__": loaded.__file__,
        "_look_before": module.look_before, "_look_after": module.look_after,
    }  # fmt: skip
    exec(compile("\n".join(rows), str(loaded.__file__), "exec"), namespace)
    for name in [name for name in namespace if name.startswith("empty_strided")]:
        namespace[name] = _filled(namespace[name])
    module.call = namespace["call"]
    return module


def _filled(allocate: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def filled(*args: Any, **kwargs: Any) -> Tensor:
        buffer = allocate(*args, **kwargs)
        return buffer.fill_(_FILLED if buffer.is_floating_point() else 77)

    return filled


def _copied(value: Any) -> Any:
    """With the same strides, in memory of its own."""
    if not isinstance(value, Tensor):
        return value
    storage = value.untyped_storage().clone()
    empty = torch.empty(0, dtype=value.dtype, device=value.device)
    return empty.set_(storage, value.storage_offset(), value.size(), value.stride())


def _run(module: Module, poisoned: int | None = None) -> dict[int, dict[str, tuple[bytes, bool]]]:
    given = [_copied(value) for value in module.given]
    if poisoned is not None:
        whole = torch.empty(0, dtype=given[poisoned].dtype, device=given[poisoned].device)
        whole.set_(given[poisoned].untyped_storage()).fill_(
            float("nan")
        )  # also where it is expanded
    module.after = {}
    torch.manual_seed(0)
    module.call(given)
    return module.after


def _differs(clean: dict[str, tuple[bytes, bool]], seen: dict[str, tuple[bytes, bool]]) -> bool:
    """Did the call write something else? NaN over NaN changes nothing in one of the runs."""
    return any(
        clean[name][0] != held and (changed or clean[name][1])
        for name, (held, changed) in seen.items()
    )


def truth_of(module: Module) -> dict[str, Any]:
    """The module's calls, and for each input those that write something else with it NaN."""
    clean = _run(module)
    calls = sorted(module.lines)
    reached: dict[str, list[int]] = {}
    for number, name in enumerate(module.arguments):
        value = module.given[number]
        if isinstance(value, Tensor) and value.is_floating_point():
            seen = _run(module, number)
            reached[name] = [line for line in calls if _differs(clean[line], seen[line])]
    return {"calls": {str(line): module.lines[line] for line in calls}, "reached": reached}


def record(name: str, program: Program, device: str) -> list[dict[str, Any]]:
    """Truth of each module that a program's compilation generates."""
    modules: list[Module] = []
    load = PyCodeCache.load_by_key_path

    def loading(*args: Any, **kwargs: Any) -> ModuleType:
        loaded = load(*args, **kwargs)
        if not hasattr(loaded, "call"):  # a Triton kernel's own module
            return loaded
        module = _instrumented(loaded)
        modules.append(module)

        def call(given: list[Any]) -> Any:
            if not module.given:
                module.given = [_copied(value) for value in given]
            return module.call(given)

        loaded.call = call
        return loaded

    torch._dynamo.reset()
    torch.manual_seed(0)
    inputs = [value.to(device) for value in program.inputs()]
    # Not 1, by which a kernel in place would change nothing.
    probes = [torch.tensor(1.25, device=device) for _ in range(program.n_probes)]
    if program.is_training:
        inputs = [v.requires_grad_() if v.is_floating_point() else v for v in inputs]
    PyCodeCache.load_by_key_path = loading  # type: ignore[method-assign]
    try:
        result = torch.compile(program.function, dynamic=False)(probes, *inputs)
        if program.is_training:
            result.backward(torch.randn_like(result))
    finally:
        PyCodeCache.load_by_key_path = load  # type: ignore[method-assign]
    return [{"program": name, **truth_of(module)} for module in modules]


def main() -> None:
    """Compile and poison all programs in a process of its own, whose log is kept."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", nargs="*", default=list(PROGRAMS))
    asked = parser.parse_args()
    if "TORCH_TRACE" in os.environ:
        inductor_config.force_disable_caches = True
        torch.set_num_threads(1)
        truth = [
            module
            for name in asked.only
            for module in record(name, PROGRAMS[name], asked.device)
        ]  # fmt: skip
        rows = ",\n".join(map(json.dumps, truth))
        (asked.folder / "truth.json").write_text(f"[\n{rows}\n]\n")
        return
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as logs:
        switches = {
            "TORCH_TRACE": logs,
            "INDUCTOR_PROVENANCE": "1",
            "TORCHINDUCTOR_CACHE_DIR": logs,
        }
        command = [sys.executable, "-m", "tests.analysis.ledger.executed.record", *sys.argv[1:]]
        subprocess.run(command, env={**os.environ, **switches}, check=True)
        (log,) = Path(logs).glob("*.log")
        log.write_text(log.read_text().replace(str(Path(__file__).parents[4]), "/srv"))
        cut_log(log, asked.folder / "torch_trace.log.gz")


if __name__ == "__main__":
    main()
