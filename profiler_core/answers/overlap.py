"""What compiling did to the overlap of compute and transfers, in two jobs of ranks."""

from typing import Annotated

from profiler_core.analysis.ranks.overlap import Overlap
from profiler_core.analysis.ranks.slowed_kernels import SlowedKernel
from profiler_core.analysis.rows.overlap import overlap_sentences
from profiler_core.answers.record import Answer, means

_PAIR = "[baseline, candidate]"
_PER_STEP = means(f"{_PAIR}, per step; null: it has none", "ns")


class OverlapRowAnswer(Answer, frozen=True):
    """All collectives of one kind and process group."""

    kind: str
    group: Annotated[str, means("the ranks that take part, or the process group's name")]
    n: Annotated[tuple[float | None, float | None], means(f"{_PAIR}, per step", "count")]
    bytes: Annotated[tuple[int | None, int | None], means(f"{_PAIR}, per step", "bytes")]
    transfer_ns: Annotated[tuple[float | None, float | None], _PER_STEP]
    exposed_ns: Annotated[
        tuple[float | None, float | None],
        means(f"{_PAIR}, per step: no kernel runs beside the transfer", "ns"),
    ]
    holding_up_ns: Annotated[
        tuple[float | None, float | None],
        means(f"{_PAIR}, per step: of that, the kernel that follows was queued already", "ns"),
    ]


class MovedAnswer(Answer, frozen=True):
    """A collective that starts elsewhere in the step's compute."""

    kind: str
    group: str
    number: Annotated[int, means("of its kind and group in a step, from 0")]
    compute_before: Annotated[
        tuple[float, float],
        means(f"{_PAIR}: share of the step's compute that is over when it starts", "share"),
    ]
    exposed_ns: Annotated[tuple[float, float], means(f"{_PAIR}, per step", "ns")]


class OverlapAnswer(Answer, frozen=True):
    """The exchange of two jobs, profiled, on the ranks that the others wait for most."""

    ranks: Annotated[tuple[int, int], means(f"{_PAIR}: whose times these are")]
    rows: Annotated[
        tuple[OverlapRowAnswer, ...], means("one entry a kind and process group: {keys}")
    ]
    moved: Annotated[tuple[MovedAnswer, ...], means("{keys}")]
    regrouped: Annotated[
        tuple[str, ...], means("kinds that are cut into other calls or other sizes")
    ]
    slowed_ns: Annotated[
        tuple[float, float], means(f"{_PAIR}, per step: what kernels take longer beside them", "ns")
    ]
    slowed_baseline: Annotated[
        tuple[SlowedKernel, ...], means("the kernels of it, the most slowed first: {keys}")
    ]
    slowed_candidate: Annotated[tuple[SlowedKernel, ...], means("likewise")]
    sentences: tuple[str, ...]


def overlap_answer(result: Overlap) -> OverlapAnswer:
    """All of it."""
    return OverlapAnswer.of(
        result,
        rows=tuple(map(OverlapRowAnswer.of, result.rows)),
        moved=tuple(map(MovedAnswer.of, result.moved)),
        slowed_baseline=result.slowed_kernels[0],
        slowed_candidate=result.slowed_kernels[1],
        sentences=overlap_sentences(result),
    )
