"""HTA's figures beside Fusionscope's own; plain records that can be written as JSON."""

from dataclasses import dataclass
from typing import Literal

from profiler_core.units import format_count, format_duration, format_share

# agrees: HTA's figures equal our own. differs: they do not, and our own are kept. alone: there is
# no figure of our own. failed: HTA raised. absent: the trace has no data for it.
Status = Literal["agrees", "differs", "alone", "failed", "absent"]
Unit = Literal["ns", "share", "count", "GB/s", "rank", ""]

# HTA prints shares of a per cent with two digits.
SHARE_TOLERANCE = 0.5e-4
RELATIVE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Figure:
    """One number by HTA and by us; None where one has no value."""

    label: str
    unit: Unit
    hta: float | None
    own: float | None

    @property
    def texts(self) -> tuple[str, str]:
        """HTA's and ours, with their unit; an en dash for none."""
        return self._text(self.hta), self._text(self.own)

    def _text(self, value: float | None) -> str:
        if value is None:
            return "–"
        if self.unit == "ns":
            return format_duration(value)
        if self.unit == "share":
            return format_share(value)
        if self.unit == "GB/s":
            return f"{value:.0f} GB/s"
        return f"rank {value:.0f}" if self.unit == "rank" else format_count(value)

    @property
    def agrees(self) -> bool | None:
        """None where one of the two is missing."""
        if self.hta is None or self.own is None:
            return None
        room = SHARE_TOLERANCE * 1.01 if self.unit == "share" else 0.0
        return abs(self.hta - self.own) <= max(room, RELATIVE_TOLERANCE * abs(self.own))


@dataclass(frozen=True)
class HtaAnalysis:
    """One analysis of HTA. figures: HTA's beside ours; ours alone where HTA failed."""

    key: str
    title: str
    call: str  # HTA's function
    status: Status
    meaning: str  # what is asked, and what HTA takes for granted
    sentence: str  # the status in words
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class HtaAnswer:
    """All analyses. version None: HTA is not there, and `problem` says why."""

    version: str | None
    problem: str | None
    ranks: tuple[int, ...]  # that were handed over
    analyses: tuple[HtaAnalysis, ...]


def judged(figures: tuple[Figure, ...], absent: str) -> tuple[Status, str, tuple[Figure, ...]]:
    """Status, sentence and figures (as plain floats) of an analysis that ran."""
    figures = tuple(Figure(f.label, f.unit, _plain(f.hta), _plain(f.own)) for f in figures)
    checked = [figure.agrees for figure in figures if figure.agrees is not None]
    wrong = [figure.label for figure in figures if figure.agrees is False]
    status: Status
    if not figures:
        status, sentence = "absent", absent
    elif wrong:
        status = "differs"
        sentence = f"HTA differs on {', '.join(wrong[:3])}: Fusionscope's number is kept."
    elif all(figure.hta is None for figure in figures):
        status, sentence = "failed", "HTA gives no value here: Fusionscope's number is kept."
    elif checked:
        status, sentence = "agrees", "HTA's figures equal Fusionscope's."
    else:
        status, sentence = "alone", "HTA's value alone: Fusionscope does not compute it."
    return status, sentence, figures


def _plain(value: float | None) -> float | None:
    """A plain number: those of numpy cannot be written as JSON."""
    return None if value is None else float(value)
