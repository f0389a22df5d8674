"""What became of operators, for agents: the ledger in pages, and what was not fused.

As in `tools.py`, names, docstrings and parameters are what it reads.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from profiler_core.agents.answer import FEW_ROWS, Page, page
from profiler_core.agents.runs import Candidate, pair_of
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.source_paths import source_paths, with_path
from profiler_core.answers.explanation import (
    GroupAnswer,
    NotFusedAnswer,
    fusion_answer,
    group_answer,
    not_fused_answer,
)
from profiler_core.answers.over_ranks import (
    SlowerAnswer,
    SpreadAnswer,
    slower_answers,
    spread_answer,
)
from profiler_core.answers.record import Answer, means
from profiler_core.errors import BadInput
from profiler_core.session.pair import Pair

Kind = Literal["", "matched", "removed", "only in the candidate", "unmatched"]

_OF_GROUP = means("as in [compare](json.md#compare)")


class GroupRow(Answer, frozen=True):
    """A group of the ledger in a line."""

    group: Annotated[int, means("what `fusion_group` takes")]
    title: str
    kind: Annotated[str, _OF_GROUP]
    phase: Annotated[str, _OF_GROUP]
    module: Annotated[str | None, _OF_GROUP]
    source: Annotated[str | None, means("the first line of Python, with the whole path")]
    n_kernels: Annotated[tuple[float, float], means("both sides, per step")]
    class_steps: Annotated[tuple[int, int], _OF_GROUP]
    baseline_ns: Annotated[int, means("per step", "ns")]
    candidate_ns: Annotated[int, means("per step", "ns")]
    delta_ns: Annotated[int, means("per step", "ns")]
    confidence: Annotated[str, _OF_GROUP]


class OverRanks(Answer, frozen=True):
    """A group on every rank of a job, both sides."""

    baseline: Annotated[SpreadAnswer, means("{keys}")]
    candidate: Annotated[SpreadAnswer, means("likewise")]


class NumberedGroup(GroupAnswer, frozen=True):
    """A group of the ledger in full."""

    group: int
    title: str
    over_ranks: Annotated[OverRanks | UnsetType, means("of a job of ranks: {keys}")] = UNSET


class GroupsPage(Page, frozen=True):
    """Fusion groups, the biggest change first, and how the ledger knows them."""

    known_by: Annotated[str, _OF_GROUP]
    undecidable_baseline: Annotated[float | None, _OF_GROUP]
    undecidable_candidate: Annotated[float | None, _OF_GROUP]
    rows: tuple[GroupRow, ...]
    slower_on_one_rank: Annotated[
        tuple[SlowerAnswer, ...] | UnsetType, means("of a job of ranks, on every page: {keys}")
    ] = UNSET


class NotFusedPage(Page, frozen=True):
    """Pairs of calls, the most expensive first."""

    rows: tuple[NotFusedAnswer, ...]


def fusion_groups(
    baseline: str,
    candidate: Candidate,
    contains: str = "",
    kind: Kind = "",
    offset: int = 0,
    limit: int = FEW_ROWS,
) -> GroupsPage:
    """Which operators of the baseline became which kernels, by how much the time changed.

    contains: text in the title, module, source lines or kernel names. Ask fusion_group for one
    of them in full.
    """
    pair = pair_of(baseline, candidate)
    ledger, files = pair.ledger, _files(pair)
    wanted_text = contains.lower()
    rows = [
        _group_row(number, group, answer, files)
        for number, (group, answer) in enumerate(
            zip(ledger.groups, fusion_answer(ledger).groups, strict=True)
        )
        if kind in ("", group.kind) and (not wanted_text or wanted_text in _searched(group))
    ]
    rows.sort(key=lambda row: -abs(row.delta_ns))
    shown = page(GroupsPage, rows, offset, limit, ledger)
    job = pair.explanation.job_ledger
    return shown if job is None else replace(shown, slower_on_one_rank=slower_answers(job))


def fusion_group(baseline: str, candidate: Candidate, group: int) -> NumberedGroup:
    """One fusion group in full: operators, kernels, bytes, source lines, evidence."""
    pair = pair_of(baseline, candidate)
    ledger, files = pair.ledger, _files(pair)
    if not 0 <= group < len(ledger.groups):
        raise BadInput(
            f"There is no group {group}: they are numbered from 0 to {len(ledger.groups) - 1}.",
            remedy="Take a number from fusion_groups.",
        )
    details = group_answer(ledger, group)
    job = pair.explanation.job_ledger
    spread = job.groups[group] if job is not None else None
    return NumberedGroup.of(
        details,
        group=group,
        title=ledger.groups[group].title,
        source=tuple(with_path(line, files) for line in details.source),
        over_ranks=UNSET
        if spread is None
        else OverRanks(spread_answer(spread.baseline), spread_answer(spread.candidate)),
    )


def not_fused(
    baseline: str, candidate: Candidate, offset: int = 0, limit: int = FEW_ROWS
) -> NotFusedPage:
    """Which neighbouring calls of the candidate's generated code stayed two kernels, and why.

    Each passes an intermediate through memory: bytes and the bound on the time per step, the
    reason, and the option or rewrite that could change it; most expensive first.
    """
    pair = pair_of(baseline, candidate)
    files = _files(pair)
    rows = [
        replace(answer, source=with_path(answer.source, files))
        for answer in map(not_fused_answer, pair.explanation.not_fused)
    ]
    return page(NotFusedPage, rows, offset, limit)


def _files(pair: Pair) -> Mapping[str, str]:
    return source_paths(*(run.code for run in reversed(pair.runs)))


def _group_row(
    number: int, group: FusionGroup, answer: GroupAnswer, files: Mapping[str, str]
) -> GroupRow:
    sides = enumerate((group.baseline, group.candidate))
    before, after = (group.per_step(side.n_kernels, index) for index, side in sides)
    return GroupRow.of(
        answer,
        group,
        group=number,
        source=with_path(group.sources[0][0], files) if group.sources else None,
        n_kernels=(before, after),
        delta_ns=answer.candidate_ns - answer.baseline_ns,
    )


def _searched(group: FusionGroup) -> str:
    names = [k.name for side in (group.baseline, group.candidate) for k in side.kernels]
    sources = [text for source in group.sources for text in source]
    return " ".join([group.title, group.module or "", *sources, *names]).lower()


FUSION = (fusion_groups, fusion_group, not_fused)
