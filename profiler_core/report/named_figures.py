"""The figures of a comparison or of one run by name, for who asks for one of them alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from profiler_core.analysis.compilation.phases import compile_phases
from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.measures import step_bars_of
from profiler_core.analysis.telemetry.series import Sampled, lines
from profiler_core.errors import BadInput, NothingToAnalyse
from profiler_core.figures.compilation_icicle import compilation_icicle
from profiler_core.figures.fusion_map import fusion_map
from profiler_core.figures.kernel_bars import kernel_bars
from profiler_core.figures.memory_curve import curve_side, memory_curve
from profiler_core.figures.module_icicle import module_icicle
from profiler_core.figures.step_bars import step_bars
from profiler_core.figures.telemetry_series import telemetry_series
from profiler_core.figures.template import Figure
from profiler_core.figures.theme import Palette, palette
from profiler_core.figures.waterfall import waterfall_figure
from profiler_core.session.comparison import Comparison
from profiler_core.session.pair import Pair
from profiler_core.session.run import Run

__all__ = ["FIGURES", "Figure", "NamedFigure", "named_figure"]


@dataclass(frozen=True)
class Subject:
    """What is drawn: runs with their labels, and the pair in question, where there is one."""

    comparison: Comparison
    pair: Pair | None

    @property
    def run(self) -> Run:
        """The candidate, or the only run."""
        return self.comparison.baseline if self.pair is None else self.pair.candidate

    @property
    def both(self) -> tuple[tuple[str, int, Run], ...]:
        """Label, place and run of the pair, or of the only run."""
        places = (0,) if self.pair is None else (0, self.pair.number + 1)
        return tuple(
            (self.comparison.labels[place], place, self.comparison.runs[place]) for place in places
        )


@dataclass(frozen=True)
class NamedFigure:
    """What a figure shows, and how it is drawn; None: the runs lack what it needs."""

    about: str
    draw: Callable[[Subject, Palette], Figure | None]
    of_pairs_only: bool = False


def named_figure(
    comparison: Comparison, name: str, *, pair: Pair | None, dark: bool = False
) -> Figure:
    """One figure.

    Args:
        comparison: of one run or more.
        name: a key of `FIGURES`.
        pair: the candidate that it is about; None: a run alone.
        dark: the colours for a dark ground.

    Raises:
        BadInput: there is no figure of that name.
        NothingToAnalyse: the runs lack what it needs.
    """
    about = FIGURES.get(name)
    if about is None:
        raise BadInput(
            f"There is no figure “{name}”.", remedy=f"Choose one of {', '.join(FIGURES)}."
        )
    if about.of_pairs_only and pair is None:
        raise NothingToAnalyse(
            f"The figure {name} needs a baseline and a candidate.",
            remedy="Compare two runs: compare(baseline, candidate).",
        )
    figure = about.draw(Subject(comparison, pair), palette(dark=dark))
    if figure is None:
        raise NothingToAnalyse(
            f"There is nothing to draw as {name}: {' and '.join(comparison.labels)} lack it.",
            remedy="Capture with the profiled pass, logs and samples.",
        )
    return figure


def _steps(subject: Subject, colors: Palette) -> Figure | None:
    labels, parts = step_bars_of(subject.comparison.sides)
    return step_bars(labels, parts, colors) if parts else None


def _waterfall(subject: Subject, colors: Palette) -> Figure | None:
    pair = _pair(subject)
    return waterfall_figure(pair.waterfall, pair.labels, colors)


def _fusion_map(subject: Subject, colors: Palette) -> Figure | None:
    pair = _pair(subject)
    ledger = pair.ledger
    groups = fold(ledger.groups)
    if not groups:
        return None
    return fusion_map(groups, pair.labels, colors, time=pair.time_word, span=ledger.span)


def _kernels(subject: Subject, colors: Palette) -> Figure | None:
    comparison = subject.comparison
    runs = comparison.on_one_axis(comparison.traced)
    labels = [comparison.labels[run] for run in runs]
    rows, span = comparison.kernels_told(runs)
    return kernel_bars(labels, rows, colors, span=span) if rows else None


def _modules(subject: Subject, colors: Palette) -> Figure | None:
    pair, alone = subject.pair, subject.comparison.labels[:1]
    tree = (subject.run if pair is None else pair).divided.modules
    labels = alone * 2 if pair is None else pair.labels
    return module_icicle(tree, labels, colors, is_pair=pair is not None) if tree.is_known else None


def _compile_time(subject: Subject, colors: Palette) -> Figure | None:
    log = subject.run.compile_log
    nodes = () if log is None else compile_phases(log)
    return compilation_icicle(nodes, colors) if len(nodes) > 1 else None


def _memory(subject: Subject, colors: Palette) -> Figure | None:
    sides = [
        curve_side(label, number, run.memory.curve, 0, run.memory.before_bytes or 0)
        for label, number, run in subject.both
        if run.memory.curve is not None
    ]
    return memory_curve(sides, colors, reserved=False) if sides else None


def _telemetry(subject: Subject, colors: Palette) -> Figure | None:
    sampled = [
        Sampled(number, run.record, run.samples.gpus, told.gpu_index, run.samples.hosts, None)
        for _, number, run in subject.both
        if (told := run.telemetry) is not None
    ]
    drawn = lines(sampled, "steady")
    labels = {number: label for label, number, _ in subject.both}
    return telemetry_series(labels, drawn, colors) if drawn.keys else None


def _pair(subject: Subject) -> Pair:
    assert subject.pair is not None, "asked of pairs only"  # noqa: S101
    return subject.pair


FIGURES: Mapping[str, NamedFigure] = {
    "waterfall": NamedFigure(
        "from the baseline's step to the candidate's, a bar for each thing that changed, ns per "
        "step",
        _waterfall,
        of_pairs_only=True,
    ),
    "fusion_map": NamedFigure(
        "what each operator became: device time per step, baseline left, candidate right",
        _fusion_map,
        of_pairs_only=True,
    ),
    "steps": NamedFigure("where the time of a step went, a stacked bar for each run", _steps),
    "kernels": NamedFigure("the longest kernels of each run, time per step", _kernels),
    "modules": NamedFigure("device time per step by nn.Module, as nested boxes", _modules),
    "memory": NamedFigure("allocated memory along a step", _memory),
    "compile_time": NamedFigure(
        "where the candidate's compile time went, by compilation and phase", _compile_time
    ),
    "telemetry": NamedFigure(
        "clocks, power, utilisation and CPU of the pair over time", _telemetry
    ),
}
