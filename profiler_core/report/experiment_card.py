"""An experiment as a piece of HTML for a notebook, and its figure."""

from collections.abc import Sequence

from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.rows.experiment import trials_table
from profiler_core.analysis.wording.experiment import headline
from profiler_core.errors import NothingToAnalyse
from profiler_core.figures.experiment import cost_figure, timed_trials
from profiler_core.figures.template import Figure
from profiler_core.figures.theme import DARK, LIGHT, palette
from profiler_core.markup import render
from profiler_core.model.experiment import Experiment

__all__ = ["Figure", "experiment_card", "experiment_figure"]


def experiment_card(
    experiment: Experiment, evidence: str, reasons: Sequence[str], code: str
) -> str:
    """What a notebook shows of it.

    Args:
        experiment: that ended.
        evidence: how much was tried, and why it ended.
        reasons: what each lever is responsible for.
        code: the fastest setting.
    """
    return str(
        render(
            "report/experiment_card.html",
            looks=[{"palette": LIGHT}, {"palette": DARK}],
            facts=[experiment.title, experiment.device],
            title=headline(experiment),
            lines=[evidence, *reasons],
            trials=trials_table(experiment, leader_of(experiment)),
            code=code,
        )
    )


def experiment_figure(experiment: Experiment, *, dark: bool) -> Figure:
    """Step time against compile time.

    Raises:
        NothingToAnalyse: no setting was timed.
    """
    if not timed_trials(experiment):
        raise NothingToAnalyse(
            f"No setting of {experiment.experiment_id} was timed.", remedy="Try with more time."
        )
    return cost_figure(experiment, leader_of(experiment), palette(dark=dark))
