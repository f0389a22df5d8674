"""What each source and version cannot show, in one table.

A log shows less than what happened. Each row says, for one source and a span of versions, which
part of the answer is a lower bound and why. Checked on the logs of eleven versions, each with the
truth taken from hooks inside Dynamo.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from profiler_core.ingest.compile_log.builder import NEWEST, OLDEST, Version
from profiler_core.model.compilation import CompileLog, LowerBound, SourceKind

Part = Literal[
    "graph_breaks",  # places
    "graph_breaks.n",  # how often each was met
    "frame_skips",
    "recompiles",
    "recompile_limit_hits",
    "compilations",
    "compile_ids",
]


@dataclass(frozen=True)
class Row:
    """`part` is a lower bound in `source` from version `since` to `until`, both included."""

    source: SourceKind
    part: Part
    since: Version
    until: Version
    sentence: str
    of_breaks: bool = False  # it doubts the breaks that the log shows, and none where it has none


TABLE = (
    Row("text", "graph_breaks", OLDEST, (2, 5),
        "A data-dependent `if` breaks the graph without a line in the log before PyTorch 2.6."),
    Row("text", "frame_skips", OLDEST, (2, 2),
        "A break inside a loop makes Dynamo skip the frame; before PyTorch 2.3 nothing says so."),
    Row("text", "graph_breaks.n", OLDEST, (2, 5),
        "A break is logged at its first occurrence only before PyTorch 2.6."),
    Row("text", "frame_skips", (2, 3), (2, 9),
        "A break inside a loop looks like any other break in the text of PyTorch 2.3 to 2.9: "
        "some of these breaks may be whole frames that run eager.", of_breaks=True),
    Row("text", "compile_ids", OLDEST, (2, 3),
        "Recompiles carry no compile id before PyTorch 2.4."),
    Row("text", "compilations", OLDEST, (2, 3),
        "Text logs do not list compilations and their seconds; TORCH_TRACE does from PyTorch 2.4 "
        "on."),
    Row("text", "compilations", (2, 4), NEWEST,
        "Text logs do not list compilations and their seconds; TORCH_TRACE does."),
    Row("structured", "compilations", OLDEST, (2, 3),
        "Structured logs hold no compilation metrics before PyTorch 2.4."),
    Row("structured", "graph_breaks", OLDEST, (2, 5),
        "Structured logs hold no graph breaks before PyTorch 2.6."),
    Row("structured", "frame_skips", OLDEST, (2, 5),
        "Structured logs do not say which break made Dynamo skip a frame before PyTorch 2.6."),
    Row("structured", "recompiles", OLDEST, (2, 4),
        "Structured logs hold no recompile reasons before PyTorch 2.5."),
    Row("structured", "recompile_limit_hits", OLDEST, (2, 4),
        "Structured logs do not show the recompile limit before PyTorch 2.5."),
)  # fmt: skip

# Artifacts of TORCH_LOGS without which a part is not in a text log at all.
ASKED_BY = {
    "graph_breaks": (frozenset({"graph_breaks"}), 'TORCH_LOGS="graph_breaks"'),
    "recompiles": (frozenset({"recompiles", "recompiles_verbose"}), 'TORCH_LOGS="recompiles"'),
}
VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})")


def version_of(text: str | None) -> Version | None:
    """`2.11.0+cu130` -> (2, 11)."""
    match = VERSION.match(text) if text else None
    return (int(match[1]), int(match[2])) if match else None


def names_in(setting: str | None) -> frozenset[str]:
    """`+recompiles, graph_breaks` -> the names; a minus sign switches an artifact on as well."""
    return frozenset(part.strip().lstrip("+-") for part in (setting or "").split(",")) - {""}


def missing(source: SourceKind, low: Version, high: Version) -> Iterable[Row]:
    """The rows that hold for some version between `low` and `high`."""
    for row in TABLE:
        if row.source == source and row.since <= high and row.until >= low:
            yield row


def text_bounds(
    log: CompileLog,
    *,
    version: tuple[Version, Version],
    styles: frozenset[str],
    artifacts: frozenset[str],
    requested: frozenset[str] = frozenset(),
) -> CompileLog:
    """Say what this text cannot show.

    Args:
        log: what was read.
        version: oldest and newest version that the wording allows.
        styles: prefix styles met.
        artifacts: artifact tags met: a tag that was met was switched on.
        requested: names in the run's TORCH_LOGS, where it is known.
    """
    bounds = [
        LowerBound(about=row.part, sentence=row.sentence)
        for row in missing("text", *version)
        if log.graph_breaks or not row.of_breaks
    ]
    for part, (tags, setting) in ASKED_BY.items():
        if not tags & (artifacts | requested):
            bounds.append(
                LowerBound(
                    about=part,
                    sentence=f"This text holds no record of {' or '.join(sorted(tags))}: "
                    f"there was none, or the run had no {setting}.",
                )
            )
    if "short" in styles:
        bounds.append(
            LowerBound(
                about="compile_ids",
                sentence="TORCH_LOGS_FORMAT=short cuts off times, ranks and compile ids.",
            )
        )
    if log.repairs.get("record whose first line is missing"):
        bounds.append(
            LowerBound(
                about="graph_breaks",
                sentence="The log begins in the middle of a record, which is lost.",
            )
        )
    if log.repairs.get("the log ends inside a line"):
        sentence = "The log ends inside a line: it may be cut off."
        bounds.append(LowerBound(about="graph_breaks", sentence=sentence))
    return replace(log, lower_bound=tuple(bounds))


def structured_bounds(log: CompileLog, *, version: tuple[Version, Version]) -> CompileLog:
    """Say what this structured log cannot show."""
    bounds = (
        LowerBound(about=r.part, sentence=r.sentence) for r in missing("structured", *version)
    )
    return replace(log, lower_bound=tuple(bounds))
