"""Time one code in many processes, to see what processes differ by; plain torch, no product.

    python -m benchmarks.noise_processes OUT.jsonl.gz [--processes 48] [--seconds 280]

All processes start together and hold every workload; then groups of four are timed in turns, a
round of one after a round of the other, as a capture does it, while the others sleep. Groups are
drawn anew for each pass. Any two runs of one group were timed in turns, any two of different groups
apart. In some passes a process is slowed down on purpose: after each step its host waits for so
many percent of the step. On which CPUs a group runs is one of

* free: where the kernel puts its processes.
* own: each process is held to a CPU of its own.
* shared: in each turn all of the group are held to one CPU, in each turn to another core's, and
  every second turn runs backwards. Of a process the thread that launches is held, no other.
* shared by all: the same, and the thread that runs the backward pass is held as well.

A line per group: {workload, held, runs: [{process, factor, n_steps, wait_ns, rounds}]}, of a round
also the CPUs that its thread was on; the first line tells of the machine.
`benchmarks.noise_judge --processes OUT.jsonl.gz` judges by it.
"""

import argparse
import ctypes
import gc
import gzip
import itertools
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_N_ROUNDS = 20
_GROUP = 4
_PATIENCE_S = 120.0
# What the members of a group are slowed down by, group after group.
_PLANTED = ((1.0, 1.03, 1.1, 1.2), (1.0, 1.0, 1.05, 1.2), (1.0, 1.05, 1.1, 1.0))
_SAME = ((1.0,) * _GROUP,)
FREE, OWN, SHARED, SHARED_BY_ALL = "free", "own", "shared", "shared by all"
_AS_IT_IS = {"wait_ns": 0, "cpus": [], "with_backward": False}
_COMMANDS = (
    ("lscpu",),
    ("nvidia-smi", "topo", "-m"),
    ("nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,power.draw", "--format=csv"),
)


# -- a timed process ------------------------------------------------------------------------------


def _workloads(device: str) -> dict[str, Callable[[], object]]:
    """Name -> a step. Bound by launches, by launches of training, by the GPU."""
    import torch
    from torch import nn

    def layers(width: int, n_layers: int) -> nn.Sequential:
        parts = (part for _ in range(n_layers) for part in (nn.Linear(width, width), nn.GELU()))
        return nn.Sequential(*parts).to(device)

    launches, at_once = layers(256, 16), torch.randn(8, 256, device=device)
    trained = layers(256, 8)
    optimizer = torch.optim.AdamW(trained.parameters())
    products, many = layers(2048, 4), torch.randn(2048, 2048, device=device)

    def step_of_launches() -> object:
        with torch.no_grad():
            return launches(at_once)

    def step_of_training() -> object:
        optimizer.zero_grad()
        trained(at_once).square().mean().backward()
        return optimizer.step()

    def step_of_products() -> object:
        with torch.no_grad():
            return products(many)

    steps = {
        "launches": step_of_launches,
        "training": step_of_training,
        "products": step_of_products,
    }
    if device == "cuda":
        for _ in range(3):
            step_of_launches()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                step_of_launches()
        except RuntimeError as error:
            print("no replay:", error)
        else:
            steps["replay"] = graph.replay
    return steps


def _serve(device: str) -> None:
    """Answer one line per command: workload, steps, what to wait for after each, where to run."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import torch

    torch.manual_seed(0)
    steps = _workloads(device)
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    cpu_now = ctypes.CDLL(None).sched_getcpu
    for name, step in steps.items():
        for _ in range(10 if name != "products" else 3):
            step()
    synchronize()
    print(json.dumps({"workloads": list(steps)}), file=answers, flush=True)
    everywhere = os.sched_getaffinity(0)
    gc.collect()
    gc.freeze()  # torch's own objects: looking through them takes as long as a round
    for line in sys.stdin:
        asked = json.loads(line)
        held = [0, *(_backward_threads() if asked["with_backward"] else ())]
        for thread in held:
            os.sched_setaffinity(thread, asked["cpus"] or everywhere)
        timed = _round(
            steps[asked["workload"]], asked["n_steps"], asked["wait_ns"], synchronize, cpu_now
        )
        for thread in held:
            os.sched_setaffinity(thread, everywhere)
        print(json.dumps(timed), file=answers, flush=True)


def _backward_threads() -> list[int]:
    """Autograd's own, which run the backward pass of a GPU while the main thread waits."""
    return [
        int(task.name)
        for task in Path("/proc/self/task").iterdir()
        if (task / "comm").read_text().startswith("pt_autograd")
    ]


def _round(
    step: Callable[[], object],
    n_steps: int,
    wait_ns: int,
    synchronize: Callable[[], object],
    cpu_now: Callable[[], int],
) -> dict[str, Any]:
    import torch

    n_events = n_steps + 1 if torch.cuda.is_available() else 0
    events = [torch.cuda.Event(enable_timing=True) for _ in range(n_events)]
    cpus = [cpu_now()]
    gc.collect()
    gc.disable()
    synchronize()
    used = resource.getrusage(resource.RUSAGE_SELF)
    started_ns, began = time.time_ns(), time.perf_counter_ns()
    stamps = [began]
    if events:
        events[0].record()
    for index in range(n_steps):
        step()
        if wait_ns:
            until = time.perf_counter_ns() + wait_ns
            while time.perf_counter_ns() < until:
                pass
        if events:
            events[index + 1].record()
        stamps.append(time.perf_counter_ns())
        cpus.append(cpu_now())
    synchronize()
    wall_ns = time.perf_counter_ns() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    gc.enable()
    if events:
        step_ns = [round(a.elapsed_time(b) * 1e6) for a, b in itertools.pairwise(events)]
    else:
        step_ns = [b - a for a, b in itertools.pairwise(stamps)]
    return {
        "n_steps": n_steps, "wall_ns": wall_ns, "started_ns": started_ns, "step_ns": step_ns,
        "cpus": [cpu for cpu, _ in itertools.groupby(cpus)],
        "cpu_s": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime,
        "switches": [after.ru_nvcsw - used.ru_nvcsw, after.ru_nivcsw - used.ru_nivcsw],
    }  # fmt: skip


# -- who times them -------------------------------------------------------------------------------


class Process:
    """One of the processes that are timed."""

    def __init__(self, number: int, device: str) -> None:
        self.number = number
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.noise_processes", "-", "--serve", device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answer(self) -> dict[str, Any]:
        """The next line that it says.

        Raises:
            RuntimeError: it ended.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"process {self.number} ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def time(self, **asked: Any) -> dict[str, Any]:
        """Let it run one round."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({**_AS_IT_IS, **asked}) + "\n")
        self._process.stdin.flush()
        return self.answer()

    def end(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def _passes(workloads: list[str]) -> Iterator[tuple[str, tuple[tuple[float, ...], ...], str]]:
    """Workload, factors of the groups and how they are held, the most important first."""
    yield from (("launches", _SAME, FREE), ("launches", _SAME, SHARED))
    yield from (("training", _SAME, FREE), ("training", _SAME, SHARED))
    yield from (("launches", _PLANTED, SHARED), ("training", _PLANTED, SHARED))
    yield from (("training", _SAME, SHARED_BY_ALL), ("launches", _PLANTED, FREE))
    if "replay" in workloads:
        yield ("replay", _SAME, SHARED)
    yield ("products", _SAME, SHARED)
    while True:
        yield from (("launches", _SAME, FREE), ("launches", _SAME, SHARED))
        yield from (("training", _SAME, FREE), ("training", _SAME, SHARED))
        yield ("launches", _SAME, OWN)


def _time_group(
    group: list[Process],
    workload: str,
    factors: tuple[float, ...],
    held: str,
    cpus: list[int],
    round_s: float,
    usual_ns: dict[str, float],
) -> dict[str, Any]:
    runs: list[dict[str, Any]] = []
    with_backward = held == SHARED_BY_ALL

    def cpu_of(number: int, turn: int) -> list[int]:
        if held == OWN:
            return [cpus[number]]
        moved_on = 0 if len(cpus) % 2 else turn // len(cpus)  # both directions for each core
        return [] if held == FREE else [cpus[(turn + moved_on) % len(cpus)]]

    for number, (process, factor) in enumerate(zip(group, factors, strict=True)):
        warm = {"cpus": cpu_of(number, 0), "with_backward": with_backward}
        process.time(workload=workload, n_steps=10, **warm)
        timed = process.time(workload=workload, n_steps=20, **warm)
        step_ns = timed["wall_ns"] / 20
        usual = usual_ns.setdefault(workload, step_ns)
        usual_ns[workload] = min(usual, step_ns)
        runs.append(
            {
                "process": process.number,
                "factor": factor,
                "n_steps": max(10, round(round_s * 1e9 / step_ns)),
                "wait_ns": round((factor - 1) * usual_ns[workload]),
                "rounds": [],
            }
        )
    members = list(enumerate(zip(group, runs, strict=True)))
    for turn in range(_N_ROUNDS):
        is_backwards = held in (SHARED, SHARED_BY_ALL) and turn % 2
        for number, (process, run) in reversed(members) if is_backwards else members:
            asked = {key: run[key] for key in ("n_steps", "wait_ns")}
            asked |= {"cpus": cpu_of(number, turn), "with_backward": with_backward}
            run["rounds"].append(process.time(workload=workload, **asked))
    return {"workload": workload, "held": held, "runs": runs}


def _record(arguments: argparse.Namespace, processes: list[Process]) -> None:
    with gzip.open(arguments.out, "wt") as out:
        machine = {" ".join(command): _printed(command) for command in _COMMANDS}
        machine["stat"] = Path("/proc/stat").read_text().splitlines()[0]
        print(json.dumps({"machine": machine, "n_processes": len(processes)}), file=out)
        workloads: list[str] = []
        for process in list(processes):
            try:
                workloads = process.answer()["workloads"]
            except RuntimeError as error:  # there may be no room for so many
                print(error, flush=True)
                processes.remove(process)
        print(f"{len(processes)} processes are ready", flush=True)
        until = time.monotonic() + arguments.seconds
        all_cpus = sorted(os.sched_getaffinity(0))
        usual_ns: dict[str, float] = {}
        draw = random.Random(arguments.seed)
        for number, (workload, factors, held) in enumerate(_passes(workloads)):
            order = draw.sample(processes, len(processes))
            groups = [order[i : i + _GROUP] for i in range(0, len(order) - _GROUP + 1, _GROUP)]
            for group, own_factors in zip(groups, itertools.cycle(factors), strict=False):
                if time.monotonic() > until:
                    return
                cpus = draw.sample(all_cpus, len(all_cpus))
                shuffled = tuple(draw.sample(own_factors, _GROUP))
                timed = _time_group(
                    group, workload, shuffled, held, cpus, arguments.round_seconds, usual_ns
                )
                timed["stat"] = Path("/proc/stat").read_text().splitlines()[0]
                print(json.dumps({"pass": number, **timed}), file=out, flush=True)
            left = until - time.monotonic()
            print(f"pass {number}, {workload}, {held}, is over; {left:.0f} s left", flush=True)


def _printed(command: tuple[str, ...]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError as error:
        return str(error)


def main() -> None:
    """Record until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--processes", type=int, default=48)
    parser.add_argument("--seconds", type=float, default=280.0, help="once all are ready")
    parser.add_argument("--round-seconds", type=float, default=0.05)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        _serve(arguments.serve)
        return
    processes = [Process(number, arguments.device) for number in range(arguments.processes)]
    try:
        _record(arguments, processes)
    finally:
        for process in processes:
            process.end()


if __name__ == "__main__":
    main()
