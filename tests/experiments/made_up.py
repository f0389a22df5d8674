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

N_ROUNDS = 10
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

    def _record(self, variant, number, spec):
        setting = None if variant.label == EAGER else setting_of(variant.label)
        fails = setting is not None and {word for _, word in setting} & self.world.failing
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
