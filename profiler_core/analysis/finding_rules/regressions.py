"""Groups of the ledger that got slower, by the cause that the evidence shows, or without one.

A step can be faster as a whole and have parts that lost: each of these is worth as much as another
gain. A group counts where it lost noticeably against itself and against the step, and where the
ledger is sure of it. A kernel that adds a convolution's bias does the convolution's work, too.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from profiler_core.analysis.attention_masks import masks_of
from profiler_core.analysis.categories import PRODUCT_CATEGORIES
from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.finding_rules.layout_copies import LAYOUT_KERNEL
from profiler_core.analysis.handed_more import HandedMore, handed_more
from profiler_core.analysis.kernel_names import short_kernel_name
from profiler_core.analysis.ledger.added_biases import biases_ns
from profiler_core.analysis.ledger.folding import FoldedGroup, fold
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.mask_origins import MaskOrigin, mask_origin
from profiler_core.analysis.span import spanned
from profiler_core.analysis.tensor_cores import uses_tensor_cores
from profiler_core.analysis.wording.groups import handed_sentence
from profiler_core.analysis.wording.masks import OTHER_MASKS, origin_sentence, without_mask
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.units import format_count, format_duration

# What the profiled steps of two runs differ by without a reason: a few per cent of a group.
_LEAST_OF_GROUP = 0.1
_LEAST_OF_STEP = 0.003  # of one line of equal groups
_LEAST_TOGETHER = 0.01  # of the step, all groups of one cause
_SHOWN = 3  # groups in the evidence
_SURE = ("high", "medium")

_FAST_ATTENTION = re.compile(r"flash_(?:fwd|bwd)|pytorch_flash|sdpa_sm\d+_flash|cudnn.*sdpa", re.I)
_OTHER_ATTENTION = re.compile(r"fmha_cutlass|efficient_attention", re.I)
_ATOMIC = re.compile(r"tl\.atomic_add\(")
# By its type, or CUTLASS's kernels for it, whose names have no type.
_TF32 = re.compile(r"tf32|cutlass_80_tensorop_s1688(?:gemm|fprop|dgrad|wgrad)", re.I)

_BESIDE = "kernels and generated code of both sides stand beside each other."
_IN_16_BITS = "16 bits, which flash attention takes."
_HAND_THE_SAME = "Hand these operators the shapes and types that the baseline hands them."


@dataclass(frozen=True)
class _Cause:
    """Why groups got slower, how that is seen, and what to do."""

    key: str
    title: str
    advice: str
    is_cause: Callable[[Facts, FusionGroup], bool]
    # (evidence, advice) of lines of which the files tell more; "": as for all.
    told: "Callable[[Facts, list[FoldedGroup]], tuple[str, str]] | None" = None
    settings: tuple[str, ...] | None = ()  # as of `Finding`: code alone mends most causes


def _adds_with_atomics(facts: Facts, group: FusionGroup) -> bool:
    """A kernel of Inductor's own that adds into shared cells, which the baseline's do in order."""
    return any(_ATOMIC.search(facts.source_of(kernel.name)) for kernel in group.candidate.kernels)


def _left_the_fast_attention(_: Facts, group: FusionGroup) -> bool:
    """Attention of one kind of kernel in the baseline, and of a slower kind, or in parts, here."""
    before = " ".join(k.name for k in group.baseline.kernels if k.category == "attention")
    after = " ".join(k.name for k in group.candidate.kernels)
    if not before:
        return False
    is_still = any(k.category.endswith("attention") for k in group.candidate.kernels)
    was_fast, is_fast = _FAST_ATTENTION.search(before), _FAST_ATTENTION.search(after)
    return not is_still or bool(was_fast and not is_fast and _OTHER_ATTENTION.search(after))


def _masks(facts: Facts, lines: list[FoldedGroup]) -> tuple[str, str]:
    """Whether attention is handed a mask, and what to do then; "" where no file says it of all."""
    if facts.ledger is None:
        return "", ""
    masks = {
        masks_of(facts.ledger, number, facts.baseline, facts.trace, facts.code)
        for line in lines
        for number in line.numbers
    }
    after = {mask.after for mask in masks}
    if after == {False}:
        return " Attention is handed no mask here.", f"Compute it in {_IN_16_BITS}"
    if after != {True}:
        return "", ""
    origin = _origin(facts, lines)
    told = f" {sentence}" if (sentence := origin_sentence(origin)) else ""
    if {mask.before for mask in masks} == {False}:
        handed = " Attention is handed a mask here, which the baseline leaves out."
        return f"{handed}{told}", without_mask(origin)
    return f" Attention is handed a mask here.{told}", f"Of masks {OTHER_MASKS}"


def _origin(facts: Facts, lines: Iterable[FoldedGroup]) -> MaskOrigin | None:
    return mask_origin(facts.code, (group for line in lines for group in line.groups))


def _copies_layouts(_: Facts, group: FusionGroup) -> bool:
    """Layout kernels that the baseline's side does without."""
    before, after = (
        sum(k.time_ns for k in side.kernels if LAYOUT_KERNEL.search(k.name)) / max(1, n)
        for side, n in zip((group.baseline, group.candidate), group.n_steps, strict=True)
    )
    return after - before > 0.5 * max(0.0, group.delta_ns)


def _left_tf32(_: Facts, group: FusionGroup) -> bool:
    """Products whose longest kernel rounds to TF32 in the baseline, and is plain fp32 here."""
    before, after = (
        max(
            (kernel for kernel in side.kernels if kernel.category in PRODUCT_CATEGORIES),
            key=lambda kernel: kernel.time_ns,
            default=None,
        )
        for side in (group.baseline, group.candidate)
    )
    if before is None or after is None or not _TF32.search(before.name):
        return False
    return uses_tensor_cores(after.name, after.category) is False


def _waits_for_a_rank(_: Facts, group: FusionGroup) -> bool:
    """Collectives on either side: they move the same, and end when the last rank has come."""
    return all(
        2 * sum(k.time_ns for k in side.kernels if k.category == "communication") > side.time_ns > 0
        for side in (group.baseline, group.candidate)
    )


_CAUSES: tuple[_Cause, ...] = (
    _Cause(
        "slower_by_a_rank",
        "Collectives take longer: this rank comes earlier than another one.",
        "The time is another rank's, or the network's: Ranks says which rank comes last. What "
        "compiling saved here may be waited for there.",
        _waits_for_a_rank,
    ),
    _Cause(
        "slower_by_atomics",
        "Kernels that add with atomics are slower than what they replace.",
        "Where a table is small (a bias by distance, few classes), look it up by a product with a "
        "one-hot matrix, whose gradient is a product too; else keep this lookup and its gradient "
        "out of the compiled part (torch.compiler.disable).",
        _adds_with_atomics,
    ),
    _Cause(
        "slower_attention",
        "Attention left its fast path.",
        f"Where it is handed a mask: {OTHER_MASKS} Without one: {_IN_16_BITS}",
        _left_the_fast_attention,
        _masks,
    ),
    _Cause(
        "slower_by_fp32",
        "Products in TF32 became products in plain fp32.",
        "cuDNN rounds convolutions to TF32 by itself (torch.backends.cudnn.allow_tf32), products "
        "of matrices do not unless they are told to, and max-autotune makes such products of 1×1 "
        "convolutions: torch.set_float32_matmul_precision('high') rounds them as the baseline "
        "does.",
        _left_tf32,
        settings=("tf32",),
    ),
    _Cause(
        "slower_by_layouts",
        "Layout conversions make groups slower than in the baseline.",
        "Keep model and inputs in memory_format=torch.channels_last, or set "
        "torch._inductor.config.layout_optimization = False.",
        _copies_layouts,
        settings=None,
    ),
)


def slower_by(cause: _Cause) -> Rule:
    """The rule for the groups with this cause and none before it in the table."""

    def rule(facts: Facts) -> Finding | None:
        lines = [line for line in _lost(facts) if _cause_of(facts, line) is cause]
        evidence, advice = ("", "") if cause.told is None else cause.told(facts, lines)
        advice = advice or cause.advice
        finding = _finding(facts, lines, cause.key, cause.title, advice, evidence)
        return None if finding is None else replace(finding, settings=cause.settings)

    return rule


def slower_groups(facts: Facts) -> Finding | None:
    """Groups that got slower without a cause in their kernels; it may be what they are handed."""
    lines = [line for line in _lost(facts) if _cause_of(facts, line) is None]
    return _finding(
        facts,
        lines,
        "slower_groups",
        f"Parts of the {spanned(facts.span)} are slower than in the baseline.",
        _advice(facts, lines),
    )


def _handed(facts: Facts, line: FoldedGroup) -> HandedMore | None:
    """What the first group of a line is handed beside what the baseline's side is."""
    if facts.ledger is None or facts.baseline is None:
        return None
    return handed_more(facts.ledger, line.numbers[0], facts.baseline, facts.trace)


def _advice(facts: Facts, lines: list[FoldedGroup]) -> str:
    """What to do about groups, by what each is handed more than in the baseline."""
    handed = [(line, more) for line in lines if (more := _handed(facts, line)) is not None]
    if not handed:
        return f"No cause is seen in the files. Open these groups on Fusion: {_BESIDE}"
    advice = _HAND_THE_SAME
    if all(more.is_mask and not more.before for _, more in handed):
        advice = without_mask(_origin(facts, (line for line, _ in handed)))
    if len(handed) == len(lines):
        return advice
    return f"{advice} Of the others no cause is seen: open them on Fusion, where {_BESIDE}"


def _finding(
    facts: Facts,
    lines: list[FoldedGroup],
    key: str,
    title: str,
    advice: str,
    told: str = "",
) -> Finding | None:
    lost = facts.pace * sum(line.delta_ns for line in lines)
    if not lines or lost < _LEAST_TOGETHER * facts.step_ns:
        return None
    lines.sort(key=lambda line: -line.delta_ns)
    kernels = facts.named(
        kernel.name for line in lines for group in line.groups for kernel in group.candidate.kernels
    )
    more = _more(facts, lines) or told
    change = facts.faster("like_baseline", kernels, (0.8 * lost, lost, 1.1 * lost))
    return Finding(
        key=key,
        pace=facts.pace,
        change=change,
        title=title,
        evidence=f"{_listed(lines)}: {format_duration(lost)} {facts.span} more "
        f"({facts.share_text(lost, f' of the {spanned(facts.span)}')}). {_kernels(lines[0])}{more}",
        advice=advice,
        page="fusion",
        prediction=facts.gain(change, lost),
        items=facts.group_items(
            number for line in lines for number in (line.slowest, *line.numbers)
        ),
        filters=(("change", "time lost"),),
    )


def _listed(lines: list[FoldedGroup]) -> str:
    parts = [
        f"{clipped(line.label, 70)}{_place(line)} {format_duration(line.baseline_ns)} → "
        f"{format_duration(line.candidate_ns)}"
        for line in lines[:_SHOWN]
    ]
    n_further = len(lines) - _SHOWN
    return "; ".join(parts) + (
        f"; and {format_count(n_further)} more kinds of groups" if n_further > 0 else ""
    )


def _kernels(line: FoldedGroup) -> str:
    """The longest kernel of either side of the line that lost most, with how many there are."""
    sides = []
    for side in (line.first.baseline, line.first.candidate):
        longest = max(side.kernels, key=lambda kernel: kernel.time_ns, default=None)
        if longest is None:
            return ""
        n = len(side.kernels)
        name = short_kernel_name(longest.name, 60)
        sides.append(f"{name}{f' and {n - 1} more' if n > 1 else ''}")
    return f"Of the first: {' → '.join(sides)}."


def _more(facts: Facts, lines: list[FoldedGroup]) -> str:
    """What the groups of the evidence are handed more than in the baseline, each thing once."""
    sentences: list[str] = []
    for line in lines[:_SHOWN]:
        more = _handed(facts, line)
        if more is not None:
            sentences.append(handed_sentence(more))
            sentences.append(origin_sentence(_origin(facts, [line])) if more.is_mask else "")
    return "".join(f" {sentence}" for sentence in dict.fromkeys(sentences) if sentence)


def _place(line: FoldedGroup) -> str:
    return f" ({line.first.sources[0][0]})" if line.first.sources else ""


def _lost(facts: Facts) -> list[FoldedGroup]:
    """Lines of equal groups that got noticeably slower, and of which the ledger is sure."""
    if facts.ledger is None or not facts.on_gpu or not facts.is_compiled:
        return []
    least = _LEAST_OF_STEP * facts.step_ns
    groups = facts.ledger.groups
    matched = [number for number, group in enumerate(groups) if group.kind == "matched"]
    biases = biases_ns(groups, facts.code.graphs if facts.code is not None else ())

    def is_lost(line: FoldedGroup) -> bool:
        """Also beside what the baseline needs for the biases that its kernels add besides."""
        besides_ns = sum(biases.get(number, 0.0) for number in line.numbers)
        before_ns = line.baseline_ns + besides_ns
        return line.candidate_ns - before_ns >= max(least, _LEAST_OF_GROUP * before_ns)

    return [
        line
        for line in fold(groups, matched)
        if is_lost(line) and all(group.confidence in _SURE for group in line.groups)
    ]


def _cause_of(facts: Facts, line: FoldedGroup) -> _Cause | None:
    """The first cause of the table that holds for most of the line's loss."""
    return next(
        (
            cause
            for cause in _CAUSES
            if _share(cause.is_cause(facts, group) for group in line.groups) > 0.5
        ),
        None,
    )


def _share(answers: Iterable[bool]) -> float:
    by_group = list(answers)
    return sum(by_group) / len(by_group)


PLACE = 60
RULES: tuple[Rule, ...] = (*(slower_by(cause) for cause in _CAUSES), slower_groups)
