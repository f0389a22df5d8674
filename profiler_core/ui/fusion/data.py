"""The pairs that the fusion page draws."""

from collections.abc import Sequence

from profiler_core.errors import FusionscopeError, NothingToAnalyse
from profiler_core.session.pair import Pair
from profiler_core.ui.choice import Choice
from profiler_core.ui.cut_traces import CutTraces, cut_traces, show_what_is_left
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.reading import trace_path


def fused(choice: Choice, number: int) -> Pair:
    """The baseline and one candidate, which can be matched.

    Args:
        choice: with at least one candidate.
        number: which of them.

    Raises:
        NothingToAnalyse: there is no candidate, or a run has no trace or a cut one.
        BadInput: a trace cannot be read.
    """
    if not choice.candidates:
        raise NothingToAnalyse(
            "One run alone has nothing to be matched with.", remedy="Choose a candidate as well."
        )
    pair = choice.comparison.pairs[number]
    entries = (choice.baseline, choice.candidates[number])
    for entry, run in zip(entries, (pair.baseline, pair.candidate), strict=True):
        trace_path(entry, run)
        run.required_summary()
    if pair.numbers.cut_traces:
        raise cut_traces(pair.numbers.cut_traces)
    _ = pair.ledger  # raises where there is none
    return pair


def all_fused(choice: Choice, numbers: Sequence[int]) -> dict[int, Pair]:
    """Each of these candidates that can be matched; a card for each that cannot.

    Where none can, for their traces are cut, the cards are followed by the ways on.

    Raises:
        NothingToAnalyse: there is no candidate.
    """
    if not numbers:
        fused(choice, 0)
    pairs = {}
    any_cut = False
    for number in numbers:
        try:
            pairs[number] = fused(choice, number)
        except FusionscopeError as error:
            which = f"{choice.labels[number + 1]}: " if len(numbers) > 1 else ""
            problem_card(f"{which}{error.problem}", error.remedy)
            any_cut |= isinstance(error, CutTraces)
    if any_cut and not pairs:
        show_what_is_left()
    return pairs
