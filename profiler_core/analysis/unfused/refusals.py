"""Inductor's own reasons (TORCH_LOGS=fusion) for pairs of generated calls.

A log names scheduler nodes: `op13`, before torch 2.5 `buf13`, several joined by "_" once they are
fused. The operation that makes buffer 13 has that number. A compile id has a forward and a
backward graph whose numbers begin anew, and the log does not say which it means: its reasons are
used only where the id has one graph.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from profiler_core.analysis.unfused.reasons import LOOP_ORDER, WITH_PROLOGUES, Reason
from profiler_core.model.compilation import FusionDecision

_NODE = re.compile(r"(?:op|buf)(\d{1,18})")

# (beginning of what the log says, key, in plain words, what to try)
_WORDS: tuple[tuple[str, str, str, str], ...] = (
    ("node1 is extern", "library", "The first is a call of a library.",
     "mode='max-autotune' tries templates that take pointwise work as their epilogue."),
    ("node2 is extern", "library", "The second is a call of a library, or no kernel at all.",
     "With mode='max-autotune' a template takes pointwise work on its factors, "
     f"{WITH_PROLOGUES}."),
    ("numel/rnumel mismatch", "ranges", "They loop over different ranges.",
     "Do the work of the smaller range first where the order is free."),
    ("nodes numel", "ranges", "They loop over different ranges.",
     "Do the work of the smaller range first where the order is free."),
    ("numel", "ranges", "They loop over different ranges.",
     "Do the work of the smaller range first where the order is free."),
    ("memory deps did not match", "order",
     "The second reads what the first writes in another order, or at other places.",
     f"One layout for both. {LOOP_ORDER}"),
    ("intermediate nodes between", "between",
     "Something between them needs the first and is needed by the second.",
     "Compute what lies between them after both, or inside of one of them."),
    ("no shared data", "no_shared_data", "What they share was too little to be worth it.", ""),
    ("will create cycle", "cycle", "Each would have to come before the other.", ""),
    ("score_fusion", "score", "Other fusions came first, and then it no longer fit.", ""),
    ("device mismatch", "device", "They run on different devices.", "Keep both on one device."),
    ("prologue fusion turned off", "template", "Prologue fusion is switched off.",
     "torch._inductor.config.prologue_fusion = True (the default from torch 2.7 on)."),
    ("template epilogue not satisfied", "template",
     "The template's epilogue takes only pointwise work of its own result's shape.",
     "Let what follows read the result as it is written."),
    ("fusion for buffer explicit disabled", "disabled", "The code forbids this fusion.", ""),
    ("invalid loop order and tiling", "order", "No order of loops suits both.",
     LOOP_ORDER),
)  # fmt: skip


def refused(
    decisions: Sequence[FusionDecision], compile_id: str
) -> Mapping[tuple[int, int], FusionDecision]:
    """(Number of the operation that writes, of the one that reads) -> Inductor's last word.

    Args:
        decisions: of the whole log, in its order.
        compile_id: of the graph, "0/0".
    """
    last: dict[tuple[int, int], FusionDecision] = {}
    for decision in decisions:
        if decision.compile_id is None or not _is_of(decision.compile_id, compile_id):
            continue
        for first in _numbers(decision.first):
            for second in _numbers(decision.second):
                last[first, second] = decision
    return last


def reason_in_log(
    refusals: Mapping[tuple[int, int], FusionDecision],
    written: Iterable[int],
    following: Iterable[int],
) -> Reason | None:
    """What the log says of two calls; None where it says nothing.

    Args:
        refusals: of the graph.
        written: numbers of the buffers that the first call writes.
        following: of those that the second writes.
    """
    later = tuple(following)
    for first in written:
        for second in later:
            decision = refusals.get((first, second))
            if decision is not None:
                return _in_words(decision.reason)
    return None


def _in_words(message: str) -> Reason:
    for beginning, key, text, change in _WORDS:
        if message.startswith(beginning) or beginning in message:
            return Reason(key, f"{text} Inductor: {message.rstrip('.')}.", change)
    return Reason("other", f"Inductor: {message.rstrip('.')}.", "")


def _numbers(name: str) -> list[int]:
    return [int(number) for number in _NODE.findall(name)]


def _is_of(logged_id: str, compile_id: str) -> bool:
    """A trailing `_1` of the log is the second attempt within one compilation."""
    return logged_id.partition("_")[0] == compile_id
