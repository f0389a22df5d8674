"""Captures that nobody runs: run directories with the rounds of a made-up world."""

import json
from dataclasses import replace

import numpy as np

from profiler_core.analysis.experiment.choice import EAGER
from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.launcher import FinishedCapture, FinishedRun
from profiler_core.experiments import running
from profiler_core.experiments.levers import setting_of
from tests.analysis.experiment.worlds import EAGER_NS

N_ROUNDS = 20
FACTS = {"torch": "2.15.0", "cpu": "Made-up CPU", "settings": {"inductor.freezing": False}}


class Machine:
    """Stands in for the launcher: `capture` writes what a capture of the world would leave."""

    def __init__(self, world, monkeypatch, seconds=10.0):
        self.world, self.seconds = world, seconds
        self.now = 0.0
        self.captured = []  # labels of the variants of each capture
        self.marks = []  # the experiment that each capture is said to be of
        self.cancelled_in = None  # the number of the capture that is cancelled, from 1
        monkeypatch.setattr(running, "probe", lambda *_, **__: Interpreter("python", FACTS))
        monkeypatch.setattr(running, "ask_first", lambda *_: {})

    def clock(self):
        return self.now

    def is_cancelled(self):
        return self.cancelled_in is not None and len(self.captured) >= self.cancelled_in

    def capture(self, spec, out, *, selection, is_cancelled, **_):
        name = f"20261123-000000-capture-{len(self.captured):04d}"
        runs = []
        for number, variant in enumerate(spec.variants):
            folder = out / name / variant.slug
            folder.mkdir(parents=True)
            record = self._record(variant, number, spec)
            (folder / "run.json").write_text(json.dumps(record))
            runs.append(
                FinishedRun(variant.label, folder, record["status"], record["error"], record)
            )
        assert not selection.judge({}, 1)
        self.marks.append(selection.experiment)
        self.captured.append([variant.label for variant in spec.variants])
        if self.is_cancelled():
            runs = [replace(run, status="cancelled", error="cancelled") for run in runs]
        self.now += self.seconds * (len(spec.variants) - 1)
        return FinishedCapture(name, out / name, tuple(runs), self.seconds)

    def _fails(self, variant):
        words = set() if variant.label == EAGER else {w for _, w in setting_of(variant.label)}
        return bool(words & self.world.failing)

    def _record(self, variant, number, spec):
        setting = None if variant.label == EAGER else setting_of(variant.label)
        fails = self._fails(variant)
        step_ns = EAGER_NS if setting is None else self.world.step_ns(setting)
        jitter = 1 + 0.002 * np.random.default_rng(number).standard_normal(N_ROUNDS)
        rounds = [
            {"index": i, "order": number, "n_steps": 10, "wall_ns": int(10 * step_ns * jitter[i])}
            for i in range(N_ROUNDS)
        ]
        return {
            "schema_version": 1,
            "run_id": variant.label,
            "variant": variant.label,
            "status": "failed" if fails else "finished",
            "error": "it does not compile" if fails else None,
            "spec": {**spec.to_dict(), **variant.to_dict()},
            "environment": {},
            "measurement": {} if fails else {"rounds": rounds, "first_call_ns": 5_000_000_000,
                                             "interleaved": True},
            "numerics": None if setting is None else {"verdict": "right"},
        }  # fmt: skip


class TimedMachine(Machine):
    """Its captures take what they took on an H200, and ask the search what a capture asks it.

    A capture of eager, default and reduce-overhead of resnet50 (the shipped sample): processes
    start in 9 s, a setting compiles in 10 to 11 s, each is timed in 3.4 to 4.8 s of 20 turns, and
    second processes check the answers beside each other in some 10 s.
    """

    START_S, TURN_S, PROFILE_S, CHECK_S, WARM_S = 9.0, 0.24, 0.5, 10.0, 5.0
    FIRST_CALL_S = 0.5  # of eager

    def __init__(self, world, monkeypatch, compile_s, slow=()):
        super().__init__(world, monkeypatch)
        facts = {**FACTS, "gpus": [{"gpu": "Made-up GPU"}]}
        monkeypatch.setattr(running, "probe", lambda *_, **__: Interpreter("python", facts))
        monkeypatch.setattr(running, "device_of", lambda *_: "cuda:0")
        self.compile_s, self.slow = compile_s, slow  # words that compile for ten times as long
        self.compiled = set()
        self.timed = []  # labels of each capture that were timed, with their numbers of turns

    def capture(self, spec, out, *, selection, is_cancelled, **_):
        name = f"20261123-000000-capture-{len(self.captured):04d}"
        self.captured.append([variant.label for variant in spec.variants])
        self._is_cancelled, compiling = is_cancelled, {}
        turns = {}
        try:
            self._spend(self.START_S)
            for variant in spec.variants:
                compiling[variant.label] = self._first_call(variant, selection)
            turns = self._turns(spec, selection, compiling)
            self._spend(self.PROFILE_S * len(turns) + self.CHECK_S)
        except _Cut:
            turns = {}
        self.timed.append(turns)
        runs = []
        for number, variant in enumerate(spec.variants):
            record = self._record(variant, number, spec)
            takes_s, is_compiled = compiling.get(variant.label, (0.0, False))
            if variant.label in turns:
                rounds = record["measurement"]["rounds"][: turns[variant.label]]
                record["measurement"] |= {"rounds": rounds, "first_call_ns": int(takes_s * 1e9)}
            elif not self._fails(variant) or not is_compiled:
                record |= {"status": "cancelled", "measurement": {}}
            starting_s = self.START_S if number == 0 else 0.0
            spent = {"starting": starting_s, "compiling": takes_s}
            record["measurement"]["phase_seconds"] = spent
            folder = out / name / variant.slug
            folder.mkdir(parents=True)
            (folder / "run.json").write_text(json.dumps(record))
            runs.append(FinishedRun(variant.label, folder, record["status"], None, record))
        return FinishedCapture(name, out / name, tuple(runs), 0.0)

    def _spend(self, seconds):
        until = self.now + seconds
        while self.now < until:
            self.now = min(until, self.now + 0.25)
            if self._is_cancelled():
                raise _Cut

    def _first_call(self, variant, selection):
        """(seconds, whether it came to its end)."""
        words = set(variant.label.split("+"))
        takes_s = self.compile_s * (10 if words.intersection(self.slow) else 1)
        if variant.label in self.compiled:
            takes_s = self.WARM_S
        if variant.label == EAGER:
            takes_s = self.FIRST_CALL_S
        began = self.now
        while self.now < began + takes_s:
            self._spend(0.25)
            if selection.is_late(variant.label):
                return self.now - began, False
        self.compiled.add(variant.label)
        return takes_s, True

    def _turns(self, spec, selection, compiling):
        rounds = {
            variant.label: self._record(variant, number, spec)["measurement"].get("rounds")
            for number, variant in enumerate(spec.variants)
        }
        alive = [label for label, (_, is_compiled) in compiling.items() if is_compiled]
        alive = [label for label in alive if rounds[label] is not None]
        turns = {}
        for n in range(1, N_ROUNDS + 1):
            self._spend(self.TURN_S * len(alive))
            turns |= dict.fromkeys(alive, n)
            left_out = selection.judge({x: {"rounds": rounds[x][:n]} for x in alive}, n)
            alive = [label for label in alive if label not in left_out]
        return turns


class _Cut(Exception):
    """The capture was cancelled."""


def runner(machine, experiment, out, spec):
    """A runner whose captures are the machine's."""
    return running.Runner(
        spec,
        experiment,
        out,
        is_cancelled=machine.is_cancelled,
        capture=machine.capture,
        clock=machine.clock,
    )
