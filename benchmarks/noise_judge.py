"""How often runs of one code are called different, and how often a planted difference is seen.

    python -m benchmarks.noise_judge [--pairs 400]
    python -m benchmarks.noise_judge --recorded FOLDER

The first form draws rounds from a model of a machine that shares nothing with the product's noise
model: each scenario names what a machine does to two processes (noise of rounds that depend on
their neighbours or not, a drift, an offset of each process, outliers, other programs), and the
product is asked about pairs of such runs. The second form asks about every pair of runs below a
folder that have one workload with one set of options: those of one capture were timed in turns.
"""

import argparse
import collections
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from profiler_core.analysis.compare import compare, make_side
from profiler_core.analysis.noise import per_step, rounds_of
from profiler_core.ingest.run import open_run
from profiler_core.model.run import HostLoad, Measurement, Round, RunFiles, RunRecord

_STEP_NS = 5e6
_ROUND_S = 0.1
_N_ROUNDS = 20


@dataclass(frozen=True)
class Scenario:
    """What a machine does to the rounds; logarithms of the step time, as standard deviations."""

    white: float = 0.01  # of each round by itself
    slow: float = 0.0  # of noise that is correlated by `memory` from second to second
    memory: float = 0.9
    trend: float = 0.0  # per minute, the same way for all
    process: float = 0.0  # offset of each process
    session: float = 0.0  # further offset of each recording
    outliers: float = 0.0  # share of rounds that take twice to five times as long
    busy: float = 0.0  # share of the time in which another program takes half of the CPU
    steps: bool = False  # single steps are timed: other programs delay some, not all of them
    device: str = "cpu"
    n_rounds: int = _N_ROUNDS


SCENARIOS = {
    "white noise of 0.2 %, GPU": Scenario(white=0.002, process=0.0015, session=0.012, device="gpu"),
    "white noise of 1 %": Scenario(process=0.007, session=0.02),
    "white noise of 5 %": Scenario(white=0.05, process=0.007, session=0.02),
    "five rounds, 3 %": Scenario(white=0.03, process=0.007, session=0.02, n_rounds=5),
    "autocorrelated, 4 %": Scenario(slow=0.04, process=0.007, session=0.02),
    "drift of 20 % a minute": Scenario(trend=0.2, process=0.007),
    "offset of each process, 3 %": Scenario(process=0.007, session=0.03),
    "a tenth of rounds are outliers": Scenario(outliers=0.1, process=0.007, session=0.02),
    "a third of rounds are outliers": Scenario(outliers=0.33, process=0.007, session=0.02),
    "busy host": Scenario(white=0.02, process=0.007, session=0.02, busy=0.4, steps=True),
    "busy host, steps not timed": Scenario(white=0.02, process=0.007, session=0.02, busy=0.4),
}


class Machine:
    """Draws runs. Time goes on from run to run, so slow noise and drift do too."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._scenario = scenario
        self._random = np.random.default_rng(seed)
        self._now = 0.0
        self._slow = 0.0
        self._is_busy = False
        self._waited: list[float] = []

    def in_turns(self, *factors: float) -> list[Measurement]:
        """Processes that take turns, each slower by its factor."""
        offsets = [self._offset() for _ in factors]
        times: list[list[tuple[float, float]]] = [[] for _ in factors]
        for _ in range(self._scenario.n_rounds):
            for run, offset, factor in zip(times, offsets, factors, strict=True):
                run.append(self._round(offset + math.log(factor)))
        return [self._measured(run, interleaved=True) for run in times]

    def alone(self, factor: float) -> Measurement:
        """A recording by itself, some seconds after what was before it."""
        self.wait(self._random.uniform(1, 30))
        offset = self._offset() + self._random.normal(0, 1) * self._scenario.session
        level = offset + math.log(factor)
        run = [self._round(level) for _ in range(self._scenario.n_rounds)]
        return self._measured(run, interleaved=False)

    def _offset(self) -> float:
        return float(self._random.normal(0, 1) * self._scenario.process)

    def _round(self, level: float) -> tuple[float, float]:
        s = self._scenario
        self.wait(_ROUND_S)
        level += self._random.normal(0, s.white) + self._slow + s.trend * self._now / 60
        if self._random.random() < s.outliers:
            level += math.log(self._random.uniform(2, 5))
        longer = self._random.uniform(1.2, 2.5) if self._is_busy else 1.0
        self._waited.append(longer - 1)
        level += math.log(longer)
        return self._now, _STEP_NS * math.exp(level)

    def wait(self, seconds: float) -> None:
        """Let time go on."""
        s = self._scenario
        self._now += seconds
        kept = s.memory**seconds
        self._slow = kept * self._slow + self._random.normal(0, s.slow * math.sqrt(1 - kept**2))
        if self._random.random() < 1 - 0.5**seconds:  # another program comes or goes in seconds
            self._is_busy = bool(self._random.random() < s.busy)

    def _measured(self, run: list[tuple[float, float]], *, interleaved: bool) -> Measurement:
        n_steps = round(_ROUND_S * 1e9 / _STEP_NS)
        rounds = tuple(
            Round(index=index, order=0, n_steps=n_steps, wall_ns=round(step * n_steps),
                  started_ns=round(started * 1e9))
            for index, (started, step) in enumerate(run)
        )  # fmt: skip
        return Measurement(
            rounds=rounds, interleaved=interleaved, n_compilations_while_timed=0,
            host_load=HostLoad(n_cpus=2),
            step_event_ns=self._steps(run, n_steps),
        )  # fmt: skip

    def _steps(self, run: list[tuple[float, float]], n_steps: int) -> tuple[int, ...]:
        """Of each round: another program delays half of the steps, and at least one."""
        if not self._scenario.steps:
            return ()
        steps: list[int] = []
        for (_, step_ns), waited in zip(run, self._waited[-len(run) :], strict=True):
            alone_ns = step_ns / (1 + waited)
            is_delayed = self._random.random(n_steps) < 0.5
            is_delayed[0] = True
            delay_ns = (step_ns - alone_ns) * n_steps / is_delayed.sum()
            steps += [round(alone_ns + delay_ns * delayed) for delayed in is_delayed]
        return tuple(steps)


def a_run(measurement: Measurement, name: str, device: str) -> RunFiles:
    """As the product opens it."""
    environment = {"gpu": "NVIDIA H200"} if device == "gpu" else {"cpu": "a CPU"}
    record = RunRecord(
        run_id=name, capture_id="capture", variant=name, workload="model", measurement=measurement,
        environment=environment, spec={"compile": False},
    )  # fmt: skip
    return RunFiles(record=record, path=Path(name))


def pairs(
    scenario: Scenario, n: int, *, in_turns: bool, factor: float = 1.0
) -> Iterator[tuple[RunFiles, RunFiles]]:
    """Runs of one code; the second is longer by the factor."""
    for seed in range(n):
        machine = Machine(scenario, seed)
        machine.wait(60)
        if in_turns:
            runs = machine.in_turns(1.0, factor)
        else:
            runs = [machine.alone(1.0), machine.alone(factor)]
        before, after = (
            a_run(run, name, scenario.device)
            for run, name in zip(runs, ("before", "after"), strict=True)
        )
        yield before, after


def verdict_of(baseline: RunFiles, candidate: RunFiles) -> str:
    """What the product says of the pair."""
    sides = [make_side(run, None) for run in (baseline, candidate)]
    return compare(sides[0], sides[1:]).candidates[0].verdict


def told_apart(runs: Iterator[tuple[RunFiles, RunFiles]]) -> collections.Counter[str]:
    """How often the product says what."""
    return collections.Counter(verdict_of(*pair) for pair in runs)


def recorded_pairs(folder: Path) -> dict[str, list[tuple[RunFiles, RunFiles]]]:
    """The pairs of runs of one name below a folder, in turns (of one capture) and apart."""
    runs = [open_run(path.parent) for path in sorted(folder.rglob("run.json"))]
    of_kind: collections.defaultdict[str, list[tuple[RunFiles, RunFiles]]]
    of_kind = collections.defaultdict(list)
    for first, second in itertools.combinations(runs, 2):
        a, b = first.record, second.record
        if a.spec.get("options") == b.spec.get("options") and a.workload == b.workload:
            kind = "in turns" if a.capture_id == b.capture_id else "apart"
            of_kind[f"{a.spec.get('options') or a.workload}, {kind}"].append((first, second))
    return of_kind


def _judge_recorded(folder: Path) -> None:
    for kind, of_kind in sorted(recorded_pairs(folder).items()):
        differences = [math.log(_median_ns(a) / _median_ns(b)) for a, b in of_kind]
        spread = math.sqrt(sum(d * d for d in differences) / len(differences))
        print(f"{kind}: {len(of_kind)} pairs that differ by {spread:.2%} (root mean square), "
              f"{dict(told_apart(iter(of_kind)))}")  # fmt: skip


def _median_ns(run: RunFiles) -> float:
    return float(np.median([per_step(timed) for timed in rounds_of(run.record.measurement)]))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--recorded", type=Path)
    arguments = parser.parse_args()
    if arguments.recorded is not None:
        _judge_recorded(arguments.recorded)
        return
    questions: dict[str, Callable[[Scenario], Iterator[tuple[RunFiles, RunFiles]]]] = {
        f"{'the same' if factor == 1 else f'+{factor - 1:.0%}'}, {'in turns' if t else 'apart'}": (
            lambda scenario, t=t, factor=factor: pairs(
                scenario, arguments.pairs, in_turns=t, factor=factor
            )
        )
        for t in (True, False)
        for factor in (1.0, 1.1, 1.2)
    }
    print("| scenario |", " | ".join(questions), "|")
    print("|---|" + "---|" * len(questions))
    for name, scenario in SCENARIOS.items():
        shares = []
        for make in questions.values():
            answers = told_apart(make(scenario))
            shares.append(f"{(answers['slower'] + answers['faster']) / answers.total():.1%}")
        print(f"| {name} |", " | ".join(shares), "|", flush=True)


if __name__ == "__main__":
    main()
