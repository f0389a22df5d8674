"""The part of the timeline that lives in the URL: step, window, selected event, selected span.

    ?step=1&window=1200000_5400000&event=0.device.123&span=100_900&rank=0.3

`rank` is of a job: run and rank, where another one is shown than that of the other pages.

Times are ns on the common axis. A value that makes no sense is left out, never an error: links
are typed, cut and passed on. static/timeline/address.js writes the same text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from profiler_core.timeline.layout import TABLES

PARAMETERS = ("step", "window", "span", "event", "rank")
_LIMIT_NS = 2**53  # JavaScript's whole numbers end here; 104 days


@dataclass(frozen=True)
class Selected:
    """An event, named so that it stays the same over versions of the index."""

    run: int  # 0 is the baseline, then the candidates in order
    table: str
    row: int


@dataclass(frozen=True)
class Address:
    """What a link says about the timeline. None: not said."""

    step: int = 0
    window: tuple[int, int] | None = None
    event: Selected | None = None
    span: tuple[int, int] | None = None
    rank: tuple[int, int] | None = None  # run, rank of its job

    def parameters(self) -> dict[str, str]:
        """URL parameters in the order of PARAMETERS; what is not said is left out."""
        event = self.event
        texts = {
            "step": str(self.step) if self.step else None,
            "window": None if self.window is None else _span_text(self.window),
            "span": None if self.span is None else _span_text(self.span),
            "event": None if event is None else f"{event.run}.{event.table}.{event.row}",
            "rank": None if self.rank is None else f"{self.rank[0]}.{self.rank[1]}",
        }
        return {name: text for name, text in texts.items() if text is not None}


def read_address(parameters: Mapping[str, str]) -> Address:
    """The address in these URL parameters."""
    step = parameters.get("step", "")
    return Address(
        step=int(step) if re.fullmatch(r"\d{1,6}", step) else 0,
        window=_span(parameters.get("window", "")),
        event=_event(parameters.get("event", "")),
        span=_span(parameters.get("span", "")),
        rank=_rank(parameters.get("rank", "")),
    )


def _span_text(span: tuple[int, int]) -> str:
    return f"{span[0]}_{span[1]}"


def _span(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(r"(-?\d{1,16})_(-?\d{1,16})", text)
    if match is None:
        return None
    start, end = int(match[1]), int(match[2])
    return (start, end) if -_LIMIT_NS < start < end < _LIMIT_NS else None


def _rank(text: str) -> tuple[int, int] | None:
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,7})", text)
    return None if match is None else (int(match[1]), int(match[2]))


def _event(text: str) -> Selected | None:
    match = re.fullmatch(r"(\d{1,3})\.(\w+)\.(\d{1,10})", text)
    if match is None or match[2] not in TABLES:
        return None
    return Selected(int(match[1]), match[2], int(match[3]))
