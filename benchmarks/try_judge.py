"""Does `try` end with the best of a plain capture, and does the code that it gives run as fast?

    python -m benchmarks.try_judge OUT --seconds 570 --try resnet50=240s \
        --try path/to/file.py:function=110s@default+layout_optimization=false

For each workload, `=BUDGET`, `@` the setting that it starts from: `try` with that budget; then the
pasted code of the result in a process of its own, timed as a capture times it: is its step time
within the interval that `try` gives? Then one plain capture of what everybody would try. Both find
compiled what `try` compiled.

Every part ends by itself when its time is over, and all of them within `--seconds`. After each part
OUT has what is known: `judged.txt`, `judged.json`, and `runs.tar.xz` with all records and logs, of
the traces as many as fit. The captures themselves lie in a temporary folder.
"""

import argparse
import ast
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

GRID = (
    "eager",
    "default",
    "reduce-overhead",
    "max-autotune",
    "default+bf16-autocast+channels_last",
)
_TIMED = ("--telemetry-seconds", "0")
_ROUNDS, _ROUND_SECONDS, _WARM_UP_STEPS = 20, 0.1, 30
_BEYOND_BUDGET_S = 60.0  # asking the interpreter, and what a cancelled capture takes to end
_PASTED_S, _GRID_S, _ENDS_WITHIN_S = 90.0, 120.0, 15.0
_TIMING_S = 25.0  # of a grid that is compiled
_PACKED_BYTES = 14_000_000


class Asked(NamedTuple):
    """One workload. start: the setting that `try` begins with."""

    workload: str
    budget: str
    start: str

    @classmethod
    def read(cls, text: str) -> "Asked":
        """`WORKLOAD=BUDGET[@VARIANT]`."""
        workload, _, rest = text.partition("=")
        budget, _, start = rest.partition("@")
        return cls(workload, budget, start or "default")


@dataclass
class Judge:
    """Runs the parts of all workloads, each within its time.

    Args:
        out: gets the answers, flat.
        work: gets the captures.
        device: as `capture --device` takes it.
        deadline: on the monotonic clock.
        grid_s: at most, for a plain capture; max-autotune alone may take ten minutes.
    """

    out: Path
    work: Path
    device: str
    deadline: float
    grid_s: float = _GRID_S

    def run(self, number: int, asked: Asked) -> dict[str, Any]:
        """All three parts of one workload, what each took among them."""
        from profiler_core.experiments.request import budget_seconds

        runs = self.work / str(number)
        common = ("--device", self.device, "--out", str(runs))
        took: dict[str, float] = {}

        def part(name: str, limit_s: float, *words: str) -> Any:
            began = time.monotonic()
            answer = self._answer(number, name, limit_s, words)
            took[name] = time.monotonic() - began
            return answer

        tried = part(
            "try", budget_seconds(asked.budget) + _BEYOND_BUDGET_S,
            "--do", "try", asked.workload, "--budget", asked.budget, "--from", asked.start,
            *_TIMED, *common, "--json",
        )  # fmt: skip
        pasted = grid = None
        if tried is not None and tried["best"] is not None:
            answer = str(self.work / f"{number}.try.json")
            pasted = part(
                "pasted", _PASTED_S,
                "--do", "pasted", asked.workload, answer, self.device, str(runs),
            )  # fmt: skip
        if tried is not None:
            grid = part(
                "grid", self.grid_s,
                "--do", "grid", asked.workload, "--variants", ",".join(GRID), *_TIMED,
                "--no-profile", "--no-memory", "--no-numerics", "--no-warm-compile", *common,
                tried["experiment"],
            )  # fmt: skip
        return {"asked": asked._asdict(), "took_s": took, "try": tried, "grid": grid,
                "pasted": pasted, "n_full_grid": _n_full_grid(runs, tried)}  # fmt: skip

    def _answer(self, number: int, name: str, limit_s: float, words: Sequence[str]) -> Any:
        """What a part prints; None: it failed, or there was no time for it."""
        until = min(time.monotonic() + limit_s, self.deadline - _ENDS_WITHIN_S)
        if until - time.monotonic() < _ENDS_WITHIN_S:
            return None
        path = self.work / f"{number}.{name}.json"
        with path.open("w") as file, (self.work / f"{number}.{name}.log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.try_judge", *words],
                stdout=file, stderr=log, start_new_session=True,
                env={**os.environ, "JUDGED_UNTIL": str(until)},
            )  # fmt: skip
            for sign, patience_s in (
                (None, until - time.monotonic()),
                (signal.SIGTERM, _ENDS_WITHIN_S),
                (signal.SIGKILL, None),
            ):
                if sign is not None:
                    os.killpg(process.pid, sign)
                try:
                    process.wait(patience_s)
                    break
                except subprocess.TimeoutExpired:
                    continue
        try:
            return json.loads(path.read_text())
        except ValueError:
            return None

    def pack(self) -> None:
        """All records and logs, then the rest of each run, the first one first, while it fits."""
        files = [path for path in sorted(self.work.rglob("*")) if path.is_file()]
        files = [path for path in files if not {"caches", "home"}.intersection(path.parts)]
        records = [path for path in files if path.suffix in (".json", ".log")]
        room = _PACKED_BYTES
        partial = self.work / "runs.tar.xz"
        with tarfile.open(partial, "w:xz", preset=1) as archive:
            for path in dict.fromkeys((*records, *files)):
                if path == partial or path.stat().st_size > room:
                    continue
                room -= path.stat().st_size if path.suffix not in (".json", ".log") else 0
                archive.add(path, str(path.relative_to(self.work)))
        shutil.move(partial, self.out / partial.name)


def _n_full_grid(runs: Path, tried: dict[str, Any] | None) -> int | None:
    """Settings of a grid over all values of the levers that were tried."""
    from profiler_core.store.experiments import read_experiment

    if tried is None:
        return None
    values: defaultdict[str, set[str]] = defaultdict(set)
    for trial in read_experiment(runs, tried["experiment"]).trials:
        for lever, word in trial.setting:
            values[lever].add(word)
    return math.prod(len(words) + 1 for words in values.values())


def lines_of(judged: dict[str, Any]) -> list[str]:
    """What came of one workload."""
    tried, grid, pasted = judged["try"], judged["grid"], judged["pasted"]
    took = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in judged["took_s"].items())
    lines = [f"{judged['asked']['workload']} from {judged['asked']['start']} ({took})"]
    if tried is None or tried["best"] is None:
        return [*lines, "  try ended without a setting"]
    best = tried["best"]
    low, high = best["step_time_low_ns"], best["step_time_high_ns"]
    lines.append(
        f"  try: {best['variant']} {_us(best['step_time_ns'])} ({_us(low)} to {_us(high)}), "
        f"{len(tried['trials'])} settings in {tried['n_captures']} captures, ended by "
        f"{tried['ended_by'] or tried['state']}; a full grid has {judged['n_full_grid']} settings"
    )
    if tried["harmful"] is not None:
        lines.append(f"  harm: {tried['harmful']['sentence']}")
    lines += [f"  gave: {effect['sentence']}" for effect in tried["responsible"]]
    if pasted is not None:
        step_ns = pasted["step_time_ns"]
        is_within = low is not None and low <= step_ns <= high
        lines.append(f"  pasted code: {_us(step_ns)}, {'within' if is_within else 'NOT within'}")
    timed = [run for run in (grid or {"runs": ()})["runs"] if run["step_time_ns"]]
    for run in timed:
        lines.append(f"  grid: {run['variant']} {_us(run['step_time_ns'])}")
    if timed:
        plain = min(run["step_time_ns"] for run in timed)
        is_as_fast = low is not None and min(low, best["step_time_ns"]) <= plain
        lines.append(
            f"  against the best of the grid: {best['step_time_ns'] / plain:.3f} of its time, "
            f"{'as fast' if is_as_fast else 'SLOWER'}"
        )
    return lines


def _us(time_ns: float | None) -> str:
    return "–" if time_ns is None else f"{time_ns / 1e3:.1f} µs"


# -- processes of their own ------------------------------------------------------------------------


def run_try(words: Sequence[str]) -> int:
    """The command, but that compiled code stays for the parts that follow."""
    from profiler_core.cli.main import main as command
    from profiler_core.experiments import running

    running.forget_caches = lambda *_: None  # type: ignore[attr-defined]
    return command(["try", *words])


def run_grid(words: Sequence[str]) -> None:
    """A capture with what an experiment compiled; what is late is left out."""
    from profiler_core.answers.encoding import write_json
    from profiler_core.capture.launcher import run_capture
    from profiler_core.capture.selection import Selection
    from profiler_core.capture.signals import cancel_flag
    from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
    from profiler_core.cli.capture_answer import capture_answer
    from profiler_core.store.experiments import caches_of

    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("experiment")
    arguments = parser.parse_args(words)
    compiled_by = float(os.environ["JUDGED_UNTIL"]) - _TIMING_S
    finished = run_capture(
        spec_from_namespace(arguments),
        arguments.out,
        listener=lambda line: print(line.text, file=sys.stderr, flush=True),
        is_cancelled=cancel_flag(),
        selection=Selection(
            caches_of(arguments.out, arguments.experiment),
            lambda *_: (),
            is_late=lambda _: time.monotonic() > compiled_by,
        ),
    )
    write_json(capture_answer(finished))


def run_pasted(workload: str, answer: Path, device: str, runs: Path) -> dict[str, float]:
    """Build the workload's model as a capture does, run the code, and time its last statement."""
    from profiler_core.capture.variant_spec import parse_variant
    from profiler_core.store.experiments import caches_of

    tried = json.loads(answer.read_text())
    best = tried["best"]
    slug = parse_variant(best["variant"]).slug
    cache = caches_of(runs, tried["experiment"]) / slug
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache / "inductor")  # before torch is there
    os.environ["TRITON_CACHE_DIR"] = str(cache / "triton")

    import torch

    is_cuda = torch.cuda.is_available() and device != "cpu"
    model, inputs = plain_model(workload, torch.device("cuda" if is_cuda else "cpu"))
    names: dict[str, Any] = {"model": model, "inputs": inputs}
    tree = ast.parse(best["code"] if best["variant"] != "eager" else _EAGER)
    before = ast.Module(tree.body[:-1], [])
    exec(compile(before, "pasted", "exec"), names)
    wrapped = ast.parse("def step():\n    pass")
    wrapped.body[0].body = [tree.body[-1]]  # type: ignore[attr-defined]
    exec(compile(ast.fix_missing_locations(wrapped), "pasted", "exec"), names)
    wait: Callable[[], object] = torch.cuda.synchronize if is_cuda else lambda: None
    return {"step_time_ns": _timed(names["step"], wait)}


def plain_model(workload: str, device: Any) -> tuple[Any, tuple[Any, ...]]:
    """A workload's model as a capture builds it for inference, and the inputs of its first step."""
    from profiler_core.capture.child.variants import build, variant_from
    from profiler_core.capture.child.workloads import Request
    from profiler_core.capture.variant_spec import VariantSpec

    request = Request(workload, None, (), {}, training=False, seed=0, device=device.type)
    built = build(request, variant_from(VariantSpec().to_dict()), device)
    return built.model.eval(), built.inputs[0][0]


_EAGER = "import torch\nwith torch.no_grad():\n    output = model(*inputs)"


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


def main(words: Sequence[str] | None = None) -> int:
    """Judge each workload, or be the process of one part."""
    words = sys.argv[1:] if words is None else words
    if words[:1] == ["--do"]:
        what, rest = words[1], words[2:]
        if what == "try":
            return run_try(rest)
        if what == "grid":
            run_grid(rest)
        else:
            print(json.dumps(run_pasted(rest[0], Path(rest[1]), rest[2], Path(rest[3]))))
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--try", dest="tries", action="append", required=True,
                        metavar="WORKLOAD=TIME[@VARIANT]")  # fmt: skip
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=570.0, help="for everything")
    parser.add_argument("--grid-seconds", type=float, default=_GRID_S, help="for a plain capture")
    arguments = parser.parse_args(words)
    arguments.out.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory(prefix="try-judge-") as work:
        os.environ["FUSIONSCOPE_HOME"] = str(Path(work) / "home")
        judge = Judge(arguments.out, Path(work), arguments.device, deadline, arguments.grid_seconds)
        all_judged = []
        for number, text in enumerate(arguments.tries):
            all_judged.append(judge.run(number, Asked.read(text)))
            print("\n".join(lines_of(all_judged[-1])), flush=True)
            lines = [line for judged in all_judged for line in lines_of(judged)]
            (arguments.out / "judged.txt").write_text("\n".join([*lines, ""]))
            (arguments.out / "judged.json").write_text(json.dumps(all_judged))
            judge.pack()
    return 0


if __name__ == "__main__":
    sys.exit(main())
