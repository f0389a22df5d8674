"""The experiments of this machine, the newest first."""

from collections.abc import Iterable

import streamlit as st

from profiler_core import home
from profiler_core.analysis.experiment.realised import Realised, by_finding, realised
from profiler_core.analysis.rows.table import Table, text_row
from profiler_core.analysis.wording.experiment import headline
from profiler_core.analysis.wording.first_lines import experiments_line
from profiler_core.analysis.wording.sentence import plain
from profiler_core.dates import minute
from profiler_core.door.experimenting import job_of
from profiler_core.model.experiment import Experiment
from profiler_core.store import history
from profiler_core.store.experiments import experiments
from profiler_core.store.history import HistoryUnavailable
from profiler_core.ui.experiments.panel import as_it_goes
from profiler_core.ui.links import plain_label
from profiler_core.ui.page import FirstLine, section
from profiler_core.ui.table import show_table
from profiler_core.units import format_share

_LISTED = 20
_LARGEST_ERROR = 10.0  # of what was predicted; beyond it the prediction was about nothing
_SUMMED = 500  # experiments whose predictions are summed up


def experiment_list(current: str | None, first_line: FirstLine) -> None:
    """Draw the list, where there is any.

    Args:
        current: the experiment that the page shows already.
        first_line: of the page; it says what the newest one found where none is shown already.
    """
    listed = list(experiments(home.runs_directory(), _LISTED))
    if not listed:
        return
    newest = listed[0]
    if current is None:
        first_line.answer(experiments_line(len(listed), newest.title, _told(newest)))
    section("Experiments on this machine")
    for experiment in listed:
        key = experiment.experiment_id
        with st.container(gap="xxsmall", key=f"fs_try_row_{key}"):
            if st.button(
                plain_label(experiment.title), key=f"fs_try_{key}", type="tertiary",
                disabled=key == current,
            ):  # fmt: skip
                st.query_params["experiment"] = key
                st.rerun(scope="app")
            st.caption(f"{minute(experiment.created_at)} · {plain_label(_told(experiment))}")
    show_realised(_kept_predictions())


def _told(experiment: Experiment) -> str:
    """What it found; of one that waits or runs that it has not ended.

    The panel beside it is drawn anew when its turn comes, this is not.
    """
    if experiment.state != "finished":
        experiment = as_it_goes(experiment, job_of(experiment.experiment_id))
    if experiment.state == "running":
        return "Not ended yet."
    return plain(headline(experiment))


def _kept_predictions() -> tuple[Realised, ...]:
    """Of the team's experiments, those of this machine included; without a history of those."""
    here = list(experiments(home.runs_directory(), _SUMMED))
    try:
        history.keep_predictions(here)
        return history.predictions()
    except HistoryUnavailable:
        return realised(here)


def show_realised(rows: Iterable[Realised]) -> None:
    """How near the predictions of each kind of finding came."""
    kinds = by_finding(rows)
    if not kinds:
        return
    section(
        "Predicted against realised",
        "Levers that were tried alone; the error is a fraction of what was predicted, and bounds "
        "(≤) have none. Where the noise was larger than that and hid any difference, nothing is "
        "judged.",
    )
    lines = tuple(
        text_row(
            kind.title.rstrip(".") or kind.finding,
            str(kind.n),
            _error_text(kind.median_error),
            f"{kind.n_within} of {kind.n}",
        )
        for kind in kinds
    )
    heads = ("Finding", "Tried", "Median error", "Within its interval")
    show_table(Table(heads, lines), "fs-realised")


def _error_text(fraction: float | None) -> str:
    if fraction is None:
        return "–"
    if fraction > _LARGEST_ERROR:
        return f"over {format_share(_LARGEST_ERROR)}"
    return format_share(fraction)
