"""Tries settings of torch.compile on a model, within a budget: `try_`."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fusionscope.capturing import spec_from, workload_of
from profiler_core import home
from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.wording.experiment import evidence, headline, responsible
from profiler_core.analysis.wording.sentence import plain
from profiler_core.answers.encoding import document
from profiler_core.answers.experiment import experiment_answer
from profiler_core.cli.capture_progress import Printer
from profiler_core.errors import BadInput
from profiler_core.experiments.pasted import pasted
from profiler_core.experiments.request import (
    DEFAULT_BUDGET,
    OWN_OPTIONS,
    budget_seconds,
    for_trials,
    new_experiment,
)
from profiler_core.experiments.running import Runner, check_measured
from profiler_core.model import experiment as model

if TYPE_CHECKING:
    import polars as pl

    from profiler_core.report.experiment_card import Figure


class Experiment:
    """The settings that were tried on a model, and what each gave.

    `code` is the fastest of them, to paste; times are ns per step.
    """

    def __init__(self, record: model.Experiment) -> None:
        self._record = record

    @property
    def record(self) -> model.Experiment:
        """All of it: `record.trials` in the order in which they were made."""
        return self._record

    @property
    def headline(self) -> str:
        """Which setting is the fastest, and by how much, in one sentence."""
        return plain(headline(self._record))

    @property
    def variant(self) -> str | None:
        """The fastest setting as `capture` takes it; None: nothing could be timed."""
        leader = leader_of(self._record)
        if leader.is_baseline:
            return "eager"
        return None if leader.trial is None else leader.trial.variant

    @property
    def code(self) -> str:
        """The fastest setting as lines of Python for your own script."""
        return pasted(self._record)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What each lever of the fastest setting is responsible for, a sentence each."""
        return responsible(self._record)

    def table(self) -> "pl.DataFrame":
        """One row for each trial: setting, state, step time and its interval in ns, speed-up."""
        import polars as pl

        rows = [
            {
                "variant": trial.variant,
                "status": trial.status,
                "step_ns": trial.step_ns,
                "step_low_ns": trial.step_low_ns,
                "step_high_ns": trial.step_high_ns,
                "speedup": None if trial.speedup is None else trial.speedup.ratio,
                "first_call_s": trial.first_call_s,
                "peak_bytes": trial.peak_bytes,
                "numerics": trial.numerics,
                "error": trial.error,
            }
            for trial in self._record.trials
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def figure(self, *, dark: bool = False) -> "Figure":
        """Step time in ms against the first call in s, a mark for each trial, as a Plotly figure.

        Args:
            dark: colours for a dark ground.
        """
        from profiler_core.report.experiment_card import experiment_figure

        return experiment_figure(self._record, dark=dark)

    def to_dict(self) -> dict[str, Any]:
        """What `fusionscope try … --json` prints: docs/json.md explains the keys."""
        return document(experiment_answer(self._record, self.code))

    def to_json(self) -> str:
        """The same as text, character by character."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)

    def _repr_html_(self) -> str:
        from profiler_core.report.experiment_card import experiment_card

        return experiment_card(self._record, evidence(self._record), self.reasons, self.code)

    def __repr__(self) -> str:
        return f"<Experiment: {self.headline}>"


def try_(
    model: Any,
    inputs: Any = (),
    *,
    budget: str | float = DEFAULT_BUDGET,
    levers: Sequence[str] = (),
    start: str = "default",
    loss: Callable[[Any], Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    **options: Any,
) -> Experiment:
    """Which setting of torch.compile is the fastest for a model: tried and measured.

    Args:
        model: as `capture` takes it, like `inputs`, `loss`, `out` and `progress`.
        inputs: of one call.
        budget: how long it may take: "20m", "1h30m", or seconds.
        levers: what is tried: names of levers, LEVER=VALUE or KEY=VALUE of Inductor's; all that fit
            without.
        start: the variant that it starts from.
        loss: with it a step trains.
        out: where the captures' folders are made.
        progress: tell on stderr what is done.
        options: of `capture`, but for variants, sweep and against.

    Raises:
        FusionscopeError: the model cannot be handed over, a lever or an option makes no sense, or
            nothing could be measured.
    """
    for name in OWN_OPTIONS:
        if name in options:
            raise BadInput(
                f"try_ decides {name} itself.", remedy="Leave it out, or call capture with it."
            )
    folder = (home.runs_directory() if out is None else Path(out)).expanduser().resolve()
    text = budget if isinstance(budget, str) else f"{budget}s"
    with workload_of(model, inputs, loss) as given:
        spec = spec_from({**given, **options})
        experiment = new_experiment(
            spec, budget_s=budget_seconds(text), levers=tuple(levers), start=start
        )
        show = Printer(sys.stderr, is_quiet=not progress).show
        ended = Runner(for_trials(spec), experiment, folder, listener=show).run()
    check_measured(ended)
    return Experiment(ended)
