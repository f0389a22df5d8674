"""What a patch of the user's code brings: verdict, answers, gate, ledger, predicted, realised."""

from pathlib import Path
from typing import Annotated

from profiler_core.analysis.findings import Finding
from profiler_core.answers.gate import GateAnswer, gate_answer
from profiler_core.answers.record import Answer, means
from profiler_core.model.experiment import Moved, Ratio
from profiler_core.session.patched import Judged


class SolvedAnswer(Answer, frozen=True):
    """A finding that only one of the two versions has."""

    finding: Annotated[str, means("its key")]
    title: str
    predicted_ns: Annotated[
        float | None,
        means("what the finding predicted to be saved per step; null: it has no number"),
    ]
    low_ns: float | None
    high_ns: float | None
    at_most: Annotated[bool | None, means("`high_ns` is an upper bound, and nothing better known")]


class PatchAnswer(Answer, frozen=True):
    """`try --patch`."""

    outcome: Annotated[
        str,
        means(
            "`faster` or `slower` beyond the noise, `cannot be told`, `wrong answers`, "
            "`does not compile`, `does not run`"
        ),
    ]
    sentence: Annotated[str, means("the same with its numbers")]
    variant: str
    directory: Annotated[Path, means("of the capture that holds both")]
    before_step_time_ns: Annotated[float | None, means("of the file as it is")]
    after_step_time_ns: Annotated[float | None, means("of the patched copy")]
    speedup: Annotated[Ratio | None, means("the one over the other: {keys}")]
    realised_ns: Annotated[float | None, means("saved per step")]
    numerics: Annotated[
        str | None,
        means("`right`, `wrong`, `not comparable`: against the answers of the file as it is"),
    ]
    numerics_reason: str
    gate: Annotated[GateAnswer, means("as in [gate](#gate), with the limit +0% of the step time")]
    moved: Annotated[
        tuple[Moved, ...], means("groups of the ledger that changed most, below 0 faster: {keys}")
    ]
    solved: Annotated[
        tuple[SolvedAnswer, ...], means("findings that the patched copy has no more: {keys}")
    ]
    new: Annotated[tuple[SolvedAnswer, ...], means("findings that only the patched copy has")]


def patch_answer(judged: Judged, directory: Path) -> PatchAnswer:
    """Of one capture.

    Args:
        judged: both versions.
        directory: of the capture.
    """
    before_ns, after_ns = judged.times_ns
    numerics = judged.numerics
    return PatchAnswer.of(
        judged,
        variant=judged.after.variant,
        directory=directory,
        before_step_time_ns=before_ns,
        after_step_time_ns=after_ns,
        realised_ns=judged.saved_ns,
        numerics=None if numerics is None else numerics.verdict,
        numerics_reason="" if numerics is None else numerics.reason,
        gate=gate_answer(judged.gate, judged.labels),
        solved=tuple(map(_solved, judged.solved)),
        new=tuple(map(_solved, judged.new)),
    )


def _solved(finding: Finding) -> SolvedAnswer:
    predicted = finding.prediction
    return SolvedAnswer(
        finding.key,
        finding.title,
        None if predicted is None else predicted.expected_ns,
        None if predicted is None else predicted.low_ns,
        None if predicted is None else predicted.high_ns,
        None if predicted is None else predicted.is_bound,
    )
