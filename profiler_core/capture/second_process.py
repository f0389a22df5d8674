"""The second process of a variant: warm first call, captures of graphs, numerics.

CUDA graphs that the profiled steps replay are captured there under the profiler, which slows a
process down for good.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from profiler_core.capture.process import Child, ChildFailure
from profiler_core.capture.rank_numerics import keep_numerics
from profiler_core.capture.ranks import RankGroup
from profiler_core.capture.run_writer import RunWriter

_WARM_COMPILE, _GRAPHS, _NUMERICS = "warm compile", "graph captures", "numerics"
_FIRST_CALL, _CAPTURE_GRAPHS, _COMPARE = "first_call", "capture_graphs", "compare"


class Question(NamedTuple):
    """A command of the child with its fields. phase: that its time is counted for."""

    phase: str
    command: str
    fields: dict[str, Any]


def questions(*, warm: bool, graphs: Path | None, reference: Path | None) -> tuple[Question, ...]:
    """All of them, in their order; () where no second process is needed.

    Args:
        warm: time the first call with the caches of the compiler filled.
        graphs: gets what CUDA graphs hold; None: there are none.
        reference: the answers to compare with; None: they are not compared.
    """
    if not (warm or graphs or reference):
        return ()
    phase = _WARM_COMPILE if warm else _GRAPHS if graphs else _NUMERICS
    asked = [Question(phase, "load", {})]
    if graphs is not None:
        asked.append(Question(phase, "watch_graphs", {"path": str(graphs)}))
    if warm or graphs is not None:
        asked += [Question(phase, "build", {}), Question(phase, _FIRST_CALL, {})]
    if graphs is not None:
        asked.append(Question(_GRAPHS, _CAPTURE_GRAPHS, {}))
    if reference is not None:
        asked.append(Question(_NUMERICS, _COMPARE, {"path": str(reference)}))
    return tuple(asked)


class SecondProcess:
    """Has all of its questions from the beginning, so that several work beside each other."""

    def __init__(self, child: Child | RankGroup, asked: Sequence[Question]) -> None:
        self._child = child
        self._asked = asked
        with contextlib.suppress(ChildFailure):  # it died already: `finish` says so
            for question in asked:
                child.tell(question.command, **question.fields)

    def finish(self, writer: RunWriter, say: Callable[[str, str], None], label: str) -> None:
        """Wait for the answers and keep them; a failure is said, and ends it.

        Args:
            writer: of the run.
            say: tells of progress: a phase and a sentence.
            label: of the variant.
        """
        for question in self._asked:
            started = time.monotonic()
            try:
                if question.command == _COMPARE:
                    say(question.phase, f"Checks the answers of {label}")
                _keep(question, self._child.answers(), writer)
            except ChildFailure as failure:
                say(question.phase, f"{label}: {failure.sentence}")
                if self._asked[-1].command == _COMPARE:
                    writer.record["numerics"] = {
                        "verdict": "not comparable",
                        "reason": failure.sentence,
                    }
                return
            finally:
                writer.spent(question.phase, started)


def _keep(question: Question, answers: list[dict[str, Any]], writer: RunWriter) -> None:
    if question.command == _FIRST_CALL and question.phase == _WARM_COMPILE:
        writer.measurement["warm_first_call_ns"] = answers[0]["first_call_ns"]
    elif question.command == _CAPTURE_GRAPHS:
        writer.note(answers[0]["note"])
    elif question.command == _COMPARE:
        keep_numerics(writer, answers)
