"""Does `try` end with the best of a plain capture, and does the code that it gives run as fast?

    python -m benchmarks.try_judge OUT --try resnet50=5m [--try path/to/file.py:function=100s …]

For each workload: `try` with that budget; then one plain capture of what everybody would try; then
the pasted code of the result in a process of its own, timed as a capture times it: is its step time
within the interval that `try` gives? Writes OUT/NUMBER/ (try.json, grid.json, pasted.json), and
prints a line for each workload.
"""

import argparse
import ast
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

GRID = "eager,default,reduce-overhead,max-autotune,default+bf16-autocast+channels_last"
_LEFT_OUT = ("--no-profile", "--no-memory", "--no-numerics", "--no-warm-compile")
_TIMED = ("--telemetry-seconds", "0")
_ROUNDS, _ROUND_SECONDS, _WARM_UP_STEPS = 20, 0.1, 30


def judge(out: Path, workload: str, budget: str, device: str) -> dict[str, Any]:
    """All three, each timed, in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    common = ("--device", device, "--out", str(out / "runs"), "--json")
    took: dict[str, float] = {}
    tried = _answer(
        out / "try.json", took, "-m", "profiler_core", "try", workload, "--budget", budget,
        *_TIMED, *common,
    )  # fmt: skip
    pasted = _answer(
        out / "pasted.json", took, "-m", "benchmarks.try_judge", "--pasted", workload,
        str(out / "try.json"), "--device", device,
    )  # fmt: skip
    grid = _answer(
        out / "grid.json", took, "-m", "profiler_core", "capture", workload, "--variants", GRID,
        *_TIMED, *_LEFT_OUT, *common,
    )  # fmt: skip
    return {"workload": workload, "took_s": took, "try": tried, "grid": grid, "pasted": pasted}


def _answer(path: Path, took: dict[str, float], *words: str) -> Any:
    began = time.monotonic()
    with path.open("w") as file:
        subprocess.run([sys.executable, *words], check=False, stdout=file)
    took[path.stem] = time.monotonic() - began
    try:
        return json.loads(path.read_text())
    except ValueError:
        return None


def line_of(judged: dict[str, Any]) -> str:
    """What came of one workload."""
    tried, grid, pasted = judged["try"], judged["grid"], judged["pasted"]
    took = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in judged["took_s"].items())
    if tried is None or tried["best"] is None:
        return f"{judged['workload']}: try ended without a setting ({took})"
    best = tried["best"]
    text = (
        f"{judged['workload']}: try {best['variant']} {best['step_time_ns'] / 1e3:.1f} µs "
        f"({_interval(best)}), {len(tried['trials'])} settings in {tried['n_captures']} captures"
    )
    if pasted is not None:
        text += f"; pasted code {pasted['step_time_ns'] / 1e3:.1f} µs"
    for run in () if grid is None else grid["runs"]:
        text += f"; {run['variant']} {(run['step_time_ns'] or 0) / 1e3:.1f} µs"
    return f"{text} ({took})"


def _interval(best: dict[str, Any]) -> str:
    low, high = best["step_time_low_ns"], best["step_time_high_ns"]
    return "no interval" if low is None else f"{low / 1e3:.1f} to {high / 1e3:.1f}"


# -- the pasted code -----------------------------------------------------------------------------


def run_pasted(workload: str, code: str, device: str) -> dict[str, float]:
    """Build the workload's model as a capture does, run the code, and time its last statement."""
    import torch

    from profiler_core.capture.child.variants import build, variant_from
    from profiler_core.capture.child.workloads import Request
    from profiler_core.capture.variant_spec import VariantSpec

    is_cuda = torch.cuda.is_available() and device != "cpu"
    place = torch.device("cuda" if is_cuda else "cpu")
    request = Request(workload, None, (), {}, training=False, seed=0, device=place.type)
    built = build(request, variant_from(VariantSpec().to_dict()), place)
    names: dict[str, Any] = {"model": built.model.eval(), "inputs": built.inputs[0][0]}
    tree = ast.parse(code)
    before = ast.Module(tree.body[:-1], [])
    exec(compile(before, "pasted", "exec"), names)
    wrapped = ast.parse("def step():\n    pass")
    wrapped.body[0].body = [tree.body[-1]]  # type: ignore[attr-defined]
    exec(compile(ast.fix_missing_locations(wrapped), "pasted", "exec"), names)
    wait: Callable[[], object] = torch.cuda.synchronize if is_cuda else lambda: None
    return {"step_time_ns": _timed(names["step"], wait)}


def _timed(step: Callable[[], object], wait: Callable[[], object]) -> float:
    for _ in range(_WARM_UP_STEPS):
        step()
    wait()
    began = time.perf_counter_ns()
    step()
    wait()
    one_ns = max(1, time.perf_counter_ns() - began)
    n_steps = max(10, round(_ROUND_SECONDS * 1e9 / one_ns))
    times: list[float] = []
    for _ in range(_ROUNDS):
        began = time.perf_counter_ns()
        for _ in range(n_steps):
            step()
        wait()
        times.append((time.perf_counter_ns() - began) / n_steps)
    return median(times)


def main(words: Sequence[str] | None = None) -> None:
    """Judge each workload, or be the process of one pasted code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--try", dest="tries", action="append", default=[], metavar="WORKLOAD=TIME")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--pasted", nargs=2, metavar=("WORKLOAD", "TRY_JSON"))
    arguments = parser.parse_args(words)
    if arguments.pasted is not None:
        workload, answer = arguments.pasted
        best = json.loads(Path(answer).read_text())["best"]
        print(json.dumps(run_pasted(workload, best["code"], arguments.device)))
        return
    if arguments.out is None:
        parser.error("OUT is missing")
    for number, text in enumerate(arguments.tries):
        workload, _, budget = text.rpartition("=")
        print(line_of(judge(arguments.out / str(number), workload, budget, arguments.device)))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
