"""Whether a candidate keeps its limits."""

from typing import Annotated

from profiler_core.analysis.gate.judgement import CHECKED, Check, Gate, Outcome
from profiler_core.analysis.noise import Noise
from profiler_core.answers.logs import GraphBreakAnswer, break_answer
from profiler_core.answers.record import Answer, means

_LABELS = means("what the two runs are called")


class CheckAnswer(Answer, frozen=True):
    """One limit, or the results of the runs."""

    quantity: Annotated[
        str,
        means(
            "`step_time`, `kernels`, `launches`, `graph_breaks`, `recompiles`, `compile_time`, "
            "`peak_memory`, `energy`, `cudagraph_coverage`, `results`, `compiles`"
        ),
    ]
    outcome: Outcome
    baseline: float | None
    candidate: Annotated[
        float | None, means("as `baseline` in ns, bytes, J, counts, shares; null where not known")
    ]
    change: Annotated[float | None, means("candidate / baseline − 1; of a share the difference")]
    limit: Annotated[str, means("as written")]
    sentence: Annotated[str, means("why")]


class GateAnswer(Answer, frozen=True):
    """`gate`."""

    baseline: Annotated[str, _LABELS]
    candidate: Annotated[str, _LABELS]
    outcome: Annotated[
        Outcome,
        means("`pass`, `regression`, `cannot judge` or `not compiled`, of all checks together"),
    ]
    checks: Annotated[
        tuple[CheckAnswer, ...],
        means("one for each limit, for wrong results and for a failed compilation: {keys}"),
    ]
    noise: Annotated[
        Noise | None,
        means(
            "of the step time, as fractions: {keys}; null where a run has too few rounds",
            floor="what the same code differs by, all together",
            drift="null for runs timed in turns",
            of_load="null for runs timed in turns, or whose steps did not wait for a CPU",
            of_repeats="null without `--same`",
        ),
    ]
    interleaved: Annotated[bool, means("were the two timed in turns")]
    notes: Annotated[tuple[str, ...], means("what differs between the runs")]
    graph_breaks: Annotated[
        tuple[GraphBreakAnswer, ...],
        means("the candidate's, as in [logs](#logs), where it does not keep their limit"),
    ]


def gate_answer(gate: Gate, labels: tuple[str, str]) -> GateAnswer:
    """Of one judgement; `labels` are those of baseline and candidate."""
    baseline, candidate = labels
    return GateAnswer.of(
        gate,
        baseline=baseline,
        candidate=candidate,
        checks=tuple(CheckAnswer.of(c, quantity=c.quantity.key) for c in gate.checks),
        graph_breaks=tuple(map(break_answer, gate.breaks)),
    )


def gate_of(answer: GateAnswer) -> Gate:
    """The judgement behind an answer, as far as the answer holds it: graph breaks become notes."""
    checks = tuple(
        Check(CHECKED[c.quantity], c.outcome, c.baseline, c.candidate, c.limit, c.sentence)
        for c in answer.checks
    )
    breaks = tuple(
        f"Graph break at {b.user_place.file}:{b.user_place.line}: {b.reason}"
        for b in answer.graph_breaks
    )
    return Gate(checks, answer.noise, answer.interleaved, (*breaks, *answer.notes))
