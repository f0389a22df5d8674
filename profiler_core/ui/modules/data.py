"""What the page of modules shows: a pair divided, or a run alone."""

from dataclasses import dataclass, replace

from profiler_core.analysis.graph_replays.phases import Bucket
from profiler_core.session.divided import Divided
from profiler_core.session.pair import Pair
from profiler_core.session.run import Run
from profiler_core.ui.choice import Choice
from profiler_core.ui.cut_traces import cut_traces
from profiler_core.ui.fusion.data import fused
from profiler_core.ui.reading import trace_path


@dataclass(frozen=True)
class Shown:
    """The runs that are shown and their times."""

    divided: Divided
    labels: tuple[str, str]  # of a run alone twice its own
    run: int  # the candidate's place in the comparison; 0: the run is alone
    whole: Run | Pair  # what it is divided of
    beside: int | None = None  # of several candidates its place: dossiers tell beside it
    bucket: Bucket | None = None  # of a server's steps those that are shown; None: all

    @property
    def is_pair(self) -> bool:
        """Are there two runs to compare?"""
        return self.run > 0

    def of_steps(self, bucket: Bucket | None) -> "Shown":
        """The same of a server's steps of one phase and batch size; None: of all.

        Raises:
            NothingToAnalyse: there are none.
        """
        if bucket is None:
            return self
        return replace(self, divided=self.whole.divided_of(bucket), bucket=bucket)


def shown_of(choice: Choice, number: int) -> Shown:
    """The baseline beside one candidate; without any candidate alone.

    Raises:
        NothingToAnalyse: a run has no trace, that of one alone is cut, or the two cannot be
            matched.
        BadInput: a trace cannot be read.
    """
    comparison = choice.comparison
    if not choice.candidates:
        trace_path(choice.baseline, comparison.baseline)
        label = comparison.labels[0]
        alone = comparison.baseline
        if alone.required_summary().is_cut:  # what is left of a step would count as one
            raise cut_traces([label])
        return Shown(alone.divided, (label, label), 0, alone)
    pair = fused(choice, number)
    beside = number + 1 if len(choice.candidates) > 1 else None
    return Shown(pair.divided, pair.labels, number + 1, pair, beside)
