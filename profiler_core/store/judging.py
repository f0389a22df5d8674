"""`python -m profiler_core.store.judging`: the gate over runs that the history keeps, by name.

A process of its own, so that no trace is read in the web server. It reads a `Question` from its
standard input, and speaks as `worker/protocol.py` says; the result is `Judged`.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from profiler_core.analysis.gate.limits import limits_of
from profiler_core.answers.encoding import document
from profiler_core.answers.gate import gate_answer
from profiler_core.session.comparison import Comparison
from profiler_core.session.measured import required_measurement
from profiler_core.session.run import Run
from profiler_core.store import history
from profiler_core.typed import ready
from profiler_core.worker.protocol import Report, answer


@dataclass(frozen=True)
class Question:
    """baseline: a baseline's name, or a run's id; candidate and same are ids of runs."""

    baseline: str
    candidate: str
    limits: Mapping[str, str]
    same: tuple[str, ...]


@dataclass(frozen=True)
class Judged:
    """The answer of `gate --json`, and the exit status that goes with it."""

    json: str
    exit_status: int


def judged(question: Question) -> Judged:
    """Hold the candidate against the limits.

    Raises:
        FusionscopeError: a limit cannot be read, or a run is not here, or was deleted meanwhile.
    """
    limits = limits_of(question.limits)
    names = {baseline.name: baseline.run_id for baseline in history.baselines()}
    run_ids = (names.get(question.baseline, question.baseline), question.candidate, *question.same)
    before, after, *same = map(_directory, run_ids)
    pair = Comparison.open([before, after]).check().pairs[0]
    repeats = [required_measurement(Run.open(directory)) for directory in same]
    gate = pair.gate(limits, repeats)
    judgement = Judged(json.dumps(document(gate_answer(gate, pair.labels))), gate.exit_status)
    for run_id in run_ids:
        history.run(run_id)
    return judgement


def _directory(run_id: str) -> Path:
    return history.directory_of(history.run(run_id))


def _judge(_report: Report) -> Judged:
    return judged(msgspec.json.decode(sys.stdin.buffer.read(), type=ready(Question)))


if __name__ == "__main__":
    sys.exit(answer(_judge))
