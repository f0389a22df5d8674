"""How often runs of one code are called different, and how often a planted difference is seen.

    python -m benchmarks.noise_judge [--pairs 400]
    python -m benchmarks.noise_judge --recorded FOLDER
    python -m benchmarks.noise_judge --processes FILE [FILE …]

The first form draws rounds from a model of a machine that shares nothing with the product's noise
model: each scenario names what a machine does to two processes (noise of rounds that depend on
their neighbours or not, a drift, an offset of each process, outliers, other programs), and the
product is asked about pairs of such runs. The second form asks about every pair of runs below a
folder that have one workload with one set of options: those of one capture were timed in turns.
The third asks about pairs of processes of `noise_processes`, as they are, with every step of one
longer by a factor, and as they were slowed down on purpose.
"""

import argparse
import collections
import gzip
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from profiler_core.analysis.compare import compare
from profiler_core.analysis.noise import noisy_ratio, per_step, rounds_of
from profiler_core.analysis.side import make_side
from profiler_core.ingest.run import open_run
from profiler_core.model.run import HostLoad, Measurement, Round, RunFiles, RunRecord

_STEP_NS = 5e6
_ROUND_S = 0.1
_N_ROUNDS = 20
_ROUND_KEYS = ("n_steps", "wall_ns", "started_ns")


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
    slowed: float = 0.0  # share of the time in which what shares a CPU's core makes it slower
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
    "cores shared with other machines": Scenario(
        process=0.03, session=0.01, slowed=0.35, steps=True, device="gpu"
    ),
}
_SLOWER = 0.5  # by how much the other thread of a core makes steps longer
_KEPT_S = 0.25  # that a core stays as it is, on average; as on an H200 (docs/measuring.md)


class Core:
    """A core of which another machine has the other thread, and uses it at times."""

    def __init__(self, random: np.random.Generator, share: float) -> None:
        self._random = random
        self._share = share
        self._is_slow = bool(random.random() < share)
        self._until = 0.0

    def slow_share(self, now: float) -> float:
        """Of a round that begins now."""
        slow_s, at, end = 0.0, now, now + _ROUND_S
        while at < end:
            if at >= self._until:
                self._is_slow = bool(self._random.random() < self._share)
                self._until = at + self._random.exponential(_KEPT_S)
            until = min(self._until, end)
            slow_s += (until - at) * self._is_slow
            at = until
        return slow_s / _ROUND_S


class Machine:
    """Draws runs. Time goes on from run to run, so slow noise and drift do too."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._scenario = scenario
        self._random = np.random.default_rng(seed)
        self._cores = np.random.SeedSequence(seed)
        self._now = 0.0
        self._slow = 0.0
        self._is_busy = False
        self._waited: list[tuple[float, float]] = []  # how much longer, and the share of its steps

    def in_turns(self, *factors: float) -> list[Measurement]:
        """Processes that take turns, each slower by its factor."""
        offsets = [self._offset() for _ in factors]
        cores = [self._core() for _ in factors]
        times: list[list[tuple[float, float]]] = [[] for _ in factors]
        waited: list[list[tuple[float, float]]] = [[] for _ in factors]
        for _ in range(self._scenario.n_rounds):
            for number, (offset, factor) in enumerate(zip(offsets, factors, strict=True)):
                times[number].append(self._round(offset + math.log(factor), cores[number]))
                waited[number].append(self._waited[-1])
        return [self._measured(*run, interleaved=True) for run in zip(times, waited, strict=True)]

    def alone(self, factor: float) -> Measurement:
        """A recording by itself, some seconds after what was before it."""
        self.wait(self._random.uniform(1, 30))
        offset = self._offset() + self._random.normal(0, 1) * self._scenario.session
        level = offset + math.log(factor)
        core = self._core()
        run = [self._round(level, core) for _ in range(self._scenario.n_rounds)]
        return self._measured(run, self._waited[-len(run) :], interleaved=False)

    def _core(self) -> Core:
        return Core(np.random.default_rng(self._cores.spawn(1)[0]), self._scenario.slowed)

    def _offset(self) -> float:
        return float(self._random.normal(0, 1) * self._scenario.process)

    def _round(self, level: float, core: Core) -> tuple[float, float]:
        s = self._scenario
        self.wait(_ROUND_S)
        level += self._random.normal(0, s.white) + self._slow + s.trend * self._now / 60
        if self._random.random() < s.outliers:
            level += math.log(self._random.uniform(2, 5))
        longer = self._random.uniform(1.2, 2.5) if self._is_busy else 1.0
        share = 0.5
        if s.slowed:
            share = core.slow_share(self._now)
            longer = 1 + _SLOWER * share
        self._waited.append((longer - 1, share))
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

    def _measured(
        self,
        run: list[tuple[float, float]],
        waited: list[tuple[float, float]],
        *,
        interleaved: bool,
    ) -> Measurement:
        n_steps = round(_ROUND_S * 1e9 / _STEP_NS)
        rounds = tuple(
            Round(index=index, order=0, n_steps=n_steps, wall_ns=round(step * n_steps),
                  started_ns=round(started * 1e9))
            for index, (started, step) in enumerate(run)
        )  # fmt: skip
        return Measurement(
            rounds=rounds, interleaved=interleaved, n_compilations_while_timed=0,
            host_load=HostLoad(n_cpus=2, waited_share=0.3 if self._scenario.busy else 0.0),
            step_event_ns=self._steps(run, waited, n_steps),
        )  # fmt: skip

    def _steps(
        self, run: list[tuple[float, float]], waited: list[tuple[float, float]], n_steps: int
    ) -> tuple[int, ...]:
        """Of each round: another program delays a share of the steps, and at least one."""
        if not self._scenario.steps:
            return ()
        steps: list[int] = []
        for (_, step_ns), (longer, share) in zip(run, waited, strict=True):
            alone_ns = step_ns / (1 + longer)
            is_delayed = self._random.random(n_steps) < share
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


def _judge_processes(paths: Sequence[Path]) -> None:
    groups = [
        json.loads(line)
        for path in paths
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]
    kinds: collections.defaultdict[tuple[str, str, bool], list[_Group]]
    kinds = collections.defaultdict(list)
    for group in groups:
        if "machine" not in group:
            is_planted = any(run["factor"] > 1 for run in group["runs"])
            held = group.get("held") or ("own" if group["is_pinned"] else "free")
            members = [(run["factor"], _of_process(run)) for run in group["runs"]]
            kinds[group["workload"], held, is_planted].append(members)
    print("| step | on CPUs | pairs | differ by |", " | ".join(map(_named, _PLANTED)), "|")
    print("|---|---|---|---|" + "---|" * len(_PLANTED))
    for (workload, held, is_planted), of_kind in kinds.items():
        in_turns = [list(itertools.combinations(group, 2)) for group in of_kind]
        if is_planted:
            _print_planted(f"{workload}, {held}", [pair for pairs in in_turns for pair in pairs])
            continue
        _print_row(workload, f"{held}, in turns", in_turns, interleaved=True)
        apart = [
            list(itertools.product(group, other))[::5]
            for group, other in itertools.combinations(of_kind, 2)
        ]
        _print_row(workload, f"{held}, apart", apart, interleaved=False)


_Group = list[tuple[float, Measurement]]
_ProcessPair = tuple[tuple[float, Measurement], tuple[float, Measurement]]
_PLANTED = (1.0, 1.05, 1.1, 1.2, 1.5, 2.0)


def _named(factor: float) -> str:
    return "the same" if factor == 1 else f"+{factor - 1:.0%}"


def _is_told(before: Measurement, after: Measurement, *, interleaved: bool) -> bool:
    ratio = noisy_ratio(before, after, interleaved=interleaved, on_gpu=True)
    return ratio is not None and not ratio.interval[0] <= 1 <= ratio.interval[1]


def _print_row(
    workload: str, held: str, groups: Sequence[Sequence[_ProcessPair]], *, interleaved: bool
) -> None:
    """Shares of pairs that are told apart; of one code with what groups drawn anew would give."""
    cells = []
    for factor in _PLANTED:
        told = [
            [_is_told(a, _longer(b, factor), interleaved=interleaved) for (_, a), (_, b) in pairs]
            for pairs in groups
        ]
        flat = [is_told for of_group in told for is_told in of_group]
        cell = f"{np.mean(flat):.1%}"
        if factor == 1:
            cell += f" ({sum(flat)}, at most {_upper(told):.1%})"
        cells.append(cell)
    pairs = [pair for of_group in groups for pair in of_group]
    differences = [math.log(_median_of(a) / _median_of(b)) for (_, a), (_, b) in pairs]
    spread = math.sqrt(sum(d * d for d in differences) / len(differences))
    print(
        f"| {workload} | {held} | {len(pairs)} | {spread:.1%} |", " | ".join(cells), "|", flush=True
    )


def _upper(told: Sequence[Sequence[bool]]) -> float:
    """The 95th percentile of the share over groups drawn anew: pairs of a group share processes."""
    random = np.random.default_rng(0)
    sums = np.array([(sum(of_group), len(of_group)) for of_group in told])
    draws = sums[random.integers(0, len(sums), (2000, len(sums)))].sum(axis=1)
    return float(np.percentile(draws[:, 0] / draws[:, 1], 95))


def _print_planted(name: str, pairs: Sequence[_ProcessPair]) -> None:
    answers: collections.defaultdict[float, collections.Counter[str]]
    answers = collections.defaultdict(collections.Counter)
    for pair in pairs:
        (factor, before), (other_factor, after) = sorted(pair, key=lambda member: member[0])
        ratio = noisy_ratio(before, after, interleaved=True, on_gpu=True)
        if ratio is not None:
            low, high = ratio.interval
            told = "slower" if high < 1 else "faster" if low > 1 else "not told apart"
            answers[round(other_factor / factor, 3)][told] += 1
    for truth, told in sorted(answers.items()):
        print(f"{name}, slowed down, x {truth}: {dict(told)}")


def _median_of(measurement: Measurement) -> float:
    return float(np.median([per_step(timed) for timed in rounds_of(measurement)]))


def _of_process(run: dict[str, Any]) -> Measurement:
    rounds = tuple(
        Round(index=index, order=0, **{key: timed[key] for key in _ROUND_KEYS})
        for index, timed in enumerate(run["rounds"])
    )
    steps = tuple(step_ns for timed in run["rounds"] for step_ns in timed["step_ns"])
    return Measurement(
        rounds=rounds, interleaved=True, n_compilations_while_timed=0, step_event_ns=steps,
        host_load=HostLoad(n_cpus=16, waited_share=0.0),
    )  # fmt: skip


def _longer(measurement: Measurement, factor: float) -> Measurement:
    return msgspec.structs.replace(
        measurement,
        rounds=tuple(
            msgspec.structs.replace(r, wall_ns=round(r.wall_ns * factor))
            for r in measurement.rounds
        ),
        step_event_ns=tuple(round(step_ns * factor) for step_ns in measurement.step_event_ns),
    )


def _median_ns(run: RunFiles) -> float:
    assert run.record.measurement is not None
    return _median_of(run.record.measurement)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--recorded", type=Path)
    parser.add_argument("--processes", type=Path, nargs="+")
    arguments = parser.parse_args()
    if arguments.processes is not None:
        _judge_processes(arguments.processes)
        return
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
