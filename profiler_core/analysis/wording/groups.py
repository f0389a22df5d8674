"""Evidence, confidence and kind of a group, said to somebody who does not know the ledger."""

from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger
from profiler_core.units import format_share

OTHER_WORKLOADS = (
    "These are different workloads: a group joins what looks most alike, and says nothing of what "
    "compiling did."
)

_SURE = {
    "high": "This match is sure",
    "medium": "This match is likely",
    "low": "This match is a guess",
    "undecidable": "This match is one of several that explain the kernels equally well",
}
_KNOWN_BY = {
    "logs": "the compiler's structured logs",
    "shapes": "shapes and names of operators and kernels, without the compiler's logs",
    "names": "names of kernels and their order alone",
}
_EVIDENCE = {
    "operator in order": "the same operator stands at the same place in both programs",
    "operator and shapes": "operator and input shapes are the same on both sides",
    "source line": "both sides come from the same line of the code",
    "composite": "the compiler is known to make one of the other",
    "optimizer step": "both are the optimizer's step",
    "exchange between ranks": "both are what the ranks exchange in a step",
    "kernel name": "the compiled kernel's name lists these operators",
    "unlike equal layers": "equal layers of the model have another group at this place",
    "position": "both stand between the same neighbours, the only hint there is",
}
_KINDS = {
    "removed": "The candidate no longer runs a kernel for this.",
    "only in the candidate": "Only the candidate runs this: a cost that compiling brings along.",
    "unmatched": "Its counterpart on the other side could not be identified.",
}


def how_known(group: FusionGroup) -> str:
    """For instance: This match is sure: both sides come from the same line of the code."""
    reasons = [_EVIDENCE.get(evidence, evidence) for evidence in group.evidence]
    if not reasons:
        return f"{_SURE[group.confidence]}."
    return f"{_SURE[group.confidence]}: {'; '.join(reasons)}."


def how_ledger_knows(ledger: FusionLedger) -> str:
    """For instance: Matched by the compiler's structured logs."""
    shares = (ledger.undecidable_baseline, ledger.undecidable_candidate)
    matched = f"Matched by {_KNOWN_BY[ledger.known_by]}"
    if not any(shares):
        return f"{matched}."
    before, after = map(format_share, shares)
    return (
        f"{matched}; for {before} of the baseline's and {after} of the candidate's time another "
        "group would explain the kernels equally well."
    )


def what_kind(group: FusionGroup) -> str:
    """Why a group has only one side."""
    return _KINDS.get(group.kind, group.kind)
