"""Why does pasted code take longer than the same setting in a capture?

    python -m benchmarks.pasted_clock OUT --workload resnet50 \
        --variant reduce-overhead+bf16-autocast [--seconds 240]

On an H200 the code that `try` gives for resnet50 took 3 to 7 % more than the capture said, in every
process and on every core. A capture's step differs from it in what is tried here, one at a time and
in one process, in turns: the mark before each step (`cudagraph_mark_step_begin`), an event of the
device after each step, no garbage collection, one CPU for the launching thread, and a second of
rest before each round, as a GPU has while a capture's other variants are timed. None of these was
it. In a capture other processes compute on the GPU between the rounds: so the same step is timed
again after one has done so for a second, once more ten seconds later, and with its graphs recorded
anew after that.

A second process has the variables and the settings of Inductor that a capture sets too. Before,
between and after them the setting is captured as a capture does it; its time alone, before the
other variant's process ran (`alone` of run.json), is the first line of each.

`OUT/clock.json` has all rounds, and the GPU's clocks and power each tenth of a second; the table on
standard output the medians, µs per step and MHz.
"""

import argparse
import contextlib
import gc
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.try_judge import plain_model

_ROUNDS, _ROUND_SECONDS, _WARM_UP_STEPS = 20, 0.1, 30
_REST_S, _LATER_S = 1.0, 10.0
_ASK_GPU = ("nvidia-smi", "--query-gpu=clocks.sm,power.draw,clocks_event_reasons.active",
            "--format=csv,noheader,nounits", "-lms", "100")  # fmt: skip
_OF_A_CAPTURE = {
    "INDUCTOR_PROVENANCE": "1",
    "TORCH_LOGS": "+recompiles,graph_breaks,perf_hints,cudagraphs,dynamic,+recompiles_verbose",
}
Step = Callable[[], Any]


def main() -> int:
    """Be the process of one part, or run all of them in turns."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--workload", default="resnet50")
    parser.add_argument("--variant", default="reduce-overhead")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--as-capture", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--pasted", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.pasted:
        print(json.dumps(_pasted(arguments)))
        return 0
    deadline = time.monotonic() + arguments.seconds
    arguments.out.mkdir(parents=True, exist_ok=True)
    os.environ["FUSIONSCOPE_HOME"] = str(arguments.out / "home")
    results: list[dict[str, Any]] = []
    parts = ("capture", "pasted", "pasted as a capture", "capture", "pasted", "capture")
    for part in parts:
        left_s = deadline - time.monotonic()
        if left_s < 5:
            break
        began = time.monotonic()
        with _gpu_samples() as samples:
            rounds = _captured(arguments, left_s) if part == "capture" else _of_process(
                arguments, part != "pasted", left_s
            )  # fmt: skip
        results.append(
            {
                "part": part,
                "rounds_ns": rounds,
                "took_s": time.monotonic() - began,
                "mhz_w_reasons": samples,
            }
        )
        clocks = [float(sample[0]) for sample in samples if sample[0].isdecimal()]
        if clocks:
            print(f"{part}: {median(clocks):.0f} MHz ({min(clocks):.0f} to {max(clocks):.0f})")
        for name, values in rounds.items():
            print(f"{part}, {name}: {median(values) / 1e3:.1f} µs "
                  f"({min(values) / 1e3:.1f} to {max(values) / 1e3:.1f})", flush=True)  # fmt: skip
        (arguments.out / "clock.json").write_text(json.dumps(results))
    return 0


@contextlib.contextmanager
def _gpu_samples() -> Iterator[list[list[str]]]:
    """What nvidia-smi says meanwhile, there after the end; nothing where there is none."""
    samples: list[list[str]] = []
    if shutil.which(_ASK_GPU[0]) is None:
        yield samples
        return
    process = subprocess.Popen(_ASK_GPU, stdout=subprocess.PIPE, text=True)
    try:
        yield samples
    finally:
        process.terminate()
        lines = process.communicate()[0].splitlines()
        samples += [[word.strip() for word in line.split(",")] for line in lines]


def _captured(arguments: argparse.Namespace, most_s: float) -> dict[str, list[float]]:
    """Times of the rounds of a plain capture, ns per step; eager beside it, as always."""
    runs = arguments.out / "runs"
    words = ["capture", arguments.workload, "--variants", f"eager,{arguments.variant}",
             "--device", arguments.device, "--telemetry-seconds", "1", "--no-profile",
             "--no-memory", "--no-numerics", "--no-warm-compile", "--out", str(runs),
             "--json"]  # fmt: skip
    answer = _run(["profiler_core.cli", *words], most_s, {})
    if answer is None:
        return {}
    newest = max(runs.glob("*/*/run.json"), key=lambda path: (path.parent.name != "eager",
                                                             path.stat().st_mtime_ns))  # fmt: skip
    measurement = json.loads(newest.read_text())["measurement"]
    times: dict[str, list[float]] = {}
    if measurement.get("alone"):
        times["alone"] = [measurement["alone"]["wall_ns"] / measurement["alone"]["n_steps"]]
    times["rounds"] = [part["wall_ns"] / part["n_steps"] for part in measurement["rounds"]]
    steady = measurement.get("telemetry")
    if steady and steady["n_steps"]:
        times["one second on end"] = [steady["wall_ns"] / steady["n_steps"]]
    return times


def _of_process(
    arguments: argparse.Namespace, is_as_capture: bool, most_s: float
) -> dict[str, list[float]]:
    words = [__spec__.name, str(arguments.out), "--workload", arguments.workload,
             "--variant", arguments.variant, "--device", arguments.device, "--pasted"]  # fmt: skip
    more = dict(_OF_A_CAPTURE) if is_as_capture else {}
    return _run([*words, *(["--as-capture"] if is_as_capture else [])], most_s, more) or {}


def _run(words: list[str], most_s: float, more: dict[str, str]) -> Any:
    with contextlib.suppress(subprocess.TimeoutExpired, ValueError):
        finished = subprocess.run(
            [sys.executable, "-m", *words], stdout=subprocess.PIPE, timeout=most_s, check=False,
            env={**os.environ, **more},
        )  # fmt: skip
        return json.loads(finished.stdout)
    return None


def _pasted(arguments: argparse.Namespace) -> dict[str, list[float]]:
    """The setting in plain torch, timed with each of a capture's habits, ns per step."""
    import torch

    from profiler_core.capture.variant_spec import parse_variant

    device = torch.device(arguments.device)
    if arguments.as_capture:
        from profiler_core.capture.child.variants import apply_inductor

        apply_inductor(device, fallback_random=True)
    plain, inputs = plain_model(arguments.workload, device)
    spec = parse_variant(arguments.variant)
    mode = None if spec.mode == "default" else spec.mode
    model = torch.compile(plain, mode=mode)
    half = torch.bfloat16 if spec.precision == "bf16-autocast" else None
    wait: Step = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    mark = torch.compiler.cudagraph_mark_step_begin

    def step() -> Any:
        with torch.no_grad(), torch.autocast(device.type, dtype=half, enabled=half is not None):
            return model(*inputs)

    def marked() -> Any:
        mark()
        return step()

    def warm_up(run: Step) -> None:
        for _ in range(_WARM_UP_STEPS):
            run()
        wait()

    def record_anew() -> None:
        nonlocal model
        torch._dynamo.reset()
        model = torch.compile(plain, mode=mode)
        warm_up(marked)

    warm_up(step)
    began = time.perf_counter_ns()
    for _ in range(10):
        step()
    wait()
    n = max(10, round(_ROUND_SECONDS * 1e10 / (time.perf_counter_ns() - began)))
    n_events = n if device.type == "cuda" else 0
    events = [torch.cuda.Event(enable_timing=True) for _ in range(n_events)]
    ways: dict[str, tuple[Step, bool, Any]] = {
        "plain": (step, False, contextlib.nullcontext),
        "an event after each step": (step, True, contextlib.nullcontext),
        "no garbage collection": (step, False, _no_collection),
        "held to one CPU": (step, False, _held),
        "a rest before each round": (step, False, _rest),
        # Last: once a step was marked, torch counts the marks alone.
        "a mark before each step": (marked, False, contextlib.nullcontext),
        "all of them": (marked, True, _all_habits),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for names in (list(ways)[:4], list(ways)[4:5], list(ways)[5:]):
        for _ in range(_ROUNDS):
            for name in names:
                run, has_events, habit = ways[name]
                with habit():
                    times[name].append(_round(run, n, wait, events if has_events else []))
    before: dict[str, Callable[[], Any]] = {
        "after another process computed": lambda: _compute_elsewhere(device.type),
        "ten seconds after that": lambda: time.sleep(_LATER_S),
        "recorded anew": record_anew,
    }
    for name, happens in before.items():
        happens()
        times[name] = [_round(marked, n, wait, []) for _ in range(_ROUNDS)]
    return times


def _compute_elsewhere(device: str) -> None:
    """Let a process of its own compute for a second, to its end."""
    lines = ("import time, torch", f"x = torch.ones(2048, 2048, device={device!r})",
             "end = time.monotonic() + 1", "while time.monotonic() < end:",
             "    for _ in range(50): y = x @ x", "    y[0, 0].item()")  # fmt: skip
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def _round(run: Step, n: int, wait: Step, events: list[Any]) -> float:
    wait()
    began = time.perf_counter_ns()
    for index in range(n):
        run()
        if events:
            events[index].record()
    wait()
    return (time.perf_counter_ns() - began) / n


@contextlib.contextmanager
def _rest() -> Iterator[None]:
    time.sleep(_REST_S)
    yield


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def _held() -> Iterator[None]:
    from profiler_core.capture.child.held import held_to

    with held_to(min(os.sched_getaffinity(0))):
        yield


@contextlib.contextmanager
def _all_habits() -> Iterator[None]:
    with _no_collection(), _held():
        yield


if __name__ == "__main__":
    sys.exit(main())
