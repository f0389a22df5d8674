"""The prefixes of TORCH_LOGS lines, in every version from 2.1 to 2.15.

`[2026-11-21 08:15:04,592] [0/0] torch._dynamo.guards.__recompiles: [DEBUG] ` 2.1 and 2.2
`V1121 08:26:53.163000 140234567890 torch/_dynamo/guards.py:2620] [0/1] [__recompiles] ` 2.3, 2.4:
the number is a thread; from 2.5 on it is the process
`DEBUG:torch._dynamo.guards.__recompiles:` TORCH_LOGS_FORMAT=short: first line of a record only
`[rank0]:` stands before any of them once a process group exists; launchers and collectors
(torchrun, srun, Ray, Kubernetes, CI) put their own text before that. One file can mix all of it.
"""

import re
from typing import Literal, NamedTuple

# A script's own file can be the source of a record, so its path may hold blanks and brackets.
_COMPILE_ID = r"(?:\[(?P<id>!?(?:\d+|-)(?:/(?:\d+|-)){0,2}(?:_\d+)?)\] ?)?"
GLOG = re.compile(
    r"(?P<level>[VDIWEC])(?P<date>\d{4}) (?P<time>\d\d:\d\d:\d\d\.\d{3,9}) (?P<process>\d{1,18}) "
    r"(?P<source>[^\n]{1,400}?:\d+)\] ?" + _COMPILE_ID + r"(?:\[__(?P<artifact>\w+)\] ?)?"
)
ISO = re.compile(
    r"\[(?P<date>\d{4}-\d\d-\d\d) (?P<time>\d\d:\d\d:\d\d,\d{3})\] "
    + _COMPILE_ID
    + r"(?P<source>[\w.<>]+): \[(?P<level>\w+)\] ?"
)
SHORT = re.compile(r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL):(?P<source>torch[\w.]*):")
RANK = re.compile(r"\[rank(\d{1,18})\]:$")
# Where a launcher says who speaks: torchrun --tee `[default0]:`, srun --label `0: `.
_LAUNCHER_RANK = re.compile(r"(?:\[\w+?(\d{1,18})\]:|^\s*(\d{1,18}): )")

Style = Literal["glog", "iso", "short"]


class Prefix(NamedTuple):
    """What the prefix of one line says."""

    style: Style
    text: str  # the whole prefix as met: equal text, same record
    stream: tuple[str, int | None]  # process or thread, rank: records are assembled per stream
    level: str  # V D I W E C
    when: str  # as printed; "" in the short format
    source: str  # torch's file and line, or the logger: never a key, it moves each version
    compile_id: str | None
    artifact: str | None

    @property
    def rank(self) -> int | None:
        """The rank that the line names, if any."""
        return self.stream[1]


def parse_prefix(line: str) -> Prefix | None:
    """Find the prefix of `line`, wherever in the line it begins; None for program output."""
    at = 0
    match: re.Match[str] | None
    first = line[:1]
    if first in "VDIWEC":
        match = GLOG.match(line) or SHORT.match(line)
    elif first == "[":
        match = ISO.match(line)
    else:
        match = None
    if match is None:
        match = _search(line)
        if match is None:
            return None
        at = match.start()
    style: Style = "glog" if match.re is GLOG else "iso" if match.re is ISO else "short"
    rank = _rank(line[:at]) if at else None
    if style == "short":
        return _short(match, line, rank)
    artifact = match["artifact"] if style == "glog" else None
    source = match["source"]
    if style == "iso":
        logger, _, name = source.rpartition(".")
        if name.startswith("__"):
            artifact, source = name[2:], logger
    return Prefix(
        style=style,
        text=line[: match.end()],
        stream=(match["process"] if style == "glog" else "", rank),
        level=match["level"][0].replace("D", "V"),
        when=f"{match['date']} {match['time']}",
        source=source,
        compile_id=_without_attempt(match["id"]),
        artifact=artifact,
    )


def _short(match: re.Match[str], line: str, rank: int | None) -> Prefix:
    logger, _, name = match["source"].rpartition(".")
    artifact = name[2:] if name.startswith("__") else None
    return Prefix(
        style="short",
        text=line[: match.end()],
        stream=("short", rank),
        level=match["level"][0].replace("D", "V"),
        when="",
        source=logger if artifact else match["source"],
        compile_id=None,
        artifact=artifact,
    )


def _search(line: str) -> re.Match[str] | None:
    """Look for a prefix behind what launchers print.

    The cheap tests spare program output the search: 0.1 instead of 3 µs a line.
    """
    if ".py:" in line and "] " in line:
        match = GLOG.search(line)
        if match is not None:
            return match
    if "torch" in line:
        if ": [" in line:
            return ISO.search(line)
        if ":torch" in line:
            return SHORT.search(line)
    return None


def _rank(before: str) -> int | None:
    named = RANK.search(before)
    if named:
        return int(named[1])
    launcher = _LAUNCHER_RANK.search(before[-40:])
    return int(launcher[1] or launcher[2]) if launcher else None


def _without_attempt(compile_id: str | None) -> str | None:
    return compile_id.partition("_")[0] if compile_id else None
