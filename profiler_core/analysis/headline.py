"""What a page or a report says first: which candidate it is about, and its verdict in two parts."""

import re
from collections.abc import Sequence

from profiler_core.analysis.compare import CandidateComparison, ComparedNumbers

# Where a verdict's first sentence goes over into its evidence.
_EVIDENCE = re.compile(r": | \(|, measured ")


def leading(comparison: ComparedNumbers) -> CandidateComparison | None:
    """The candidate that the headline is about: the fastest; None: none can be compared.

    A fast wrong answer leads too, so that it is seen first. Another workload leads only where there
    is nothing else.
    """
    comparable = [c for c in comparison.candidates if c.step_time.ratio is not None]
    comparable = [c for c in comparable if not c.workloads_differ] or comparable
    return max(comparable, key=lambda c: c.step_time.ratio or 0.0) if comparable else None


def split_headline(sentence: str, labels: Sequence[str] = ()) -> tuple[str, str]:
    """(what is so, the evidence for it): the first short enough for large letters.

    Args:
        sentence: the verdict.
        labels: names of runs in it; what looks like a separator inside of one is none.
    """
    masked = sentence
    for label in sorted(labels, key=len, reverse=True):
        masked = re.sub(rf"(?<!\w){re.escape(label)}(?!\w)", "x" * len(label), masked)
    separator = _EVIDENCE.search(masked)
    if separator is None:
        return sentence, ""
    lead, rest = sentence[: separator.start()], sentence[separator.end() :]
    if separator.group() == " (":
        rest = rest.replace(")", "", 1)
    elif separator.group() == ", measured ":
        rest = f"measured {rest}"
    return f"{lead}.", rest[:1].upper() + rest[1:]
