"""Logs with their truth: what a reader must find, restricted by what the source can show.

The restriction follows the table of `compile_visibility`, written down here a second time in terms
of the truth: never more, never less.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from profiler_core.ingest.torch_logs.breaks import original_function
from profiler_core.model.compilation import CompileLog
from tests.larger import LARGER

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "torch_logs"
LARGER_CORPUS = LARGER / "torch_logs"

# Settings whose logs hold the artifacts graph_breaks and recompiles (or recompiles_verbose).
WITH_ARTIFACTS = {
    "rg",
    "verbose",
    "all",
    "short",
    "out",
    "dynamo_verbose_env",
    "tee",
    "plus_dynamo",
}
Place = tuple[str, int]


@dataclass(frozen=True)
class Scenario:
    """One program under one version: its logs and its truth, one per rank."""

    path: Path
    version: tuple[int, int]

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def truths(self) -> tuple[dict[str, Any], ...]:
        return tuple(_load(file) for file in sorted(self.path.glob("truth*.json*")))

    @property
    def texts(self) -> tuple[Path, ...]:
        return tuple(sorted(self.path.glob("torch_logs*.txt*")))

    @property
    def structured(self) -> tuple[Path, ...]:
        return tuple(sorted(self.path.glob("torch_trace/*")))

    def breaks(self) -> Counter[Place]:
        """Places where a partial graph was compiled, with how often."""
        found: Counter[Place] = Counter()
        for truth in self.truths:
            for entry in truth["graph_breaks"]["list"]:
                found[entry["file"], entry["line"]] += entry["times"]
        return found

    def data_dependent(self) -> set[Place]:
        return {
            (entry["file"], entry["line"])
            for truth in self.truths
            for entry in truth["graph_breaks"]["list"]
            if entry["kind"] == "data_dependent_branch"
        }

    def skips(self) -> set[Place]:
        """Places where no partial graph came of it, as far as the place is known."""
        return {
            (entry["file"], entry["line"])
            for truth in self.truths
            for entry in truth["frame_skips"]["list"]
            if entry["file"]
        }

    def failed_places(self) -> set[Place]:
        return {
            tuple(frame["fail_user_frame"])
            for truth in self.truths
            for frame in truth["compilations"]["failed_frames"]
        }

    def recompiles(self) -> Counter[tuple[str, str, int]]:
        return Counter(
            (original_function(r["function"]), r["file"], r["line"])
            for truth in self.truths
            for r in truth["recompiles"]["list"]
            if r["compiled"]
        )

    def limit_hits(self) -> Counter[tuple[str, str, int]]:
        return Counter(
            (original_function(hit["name"]), hit["file"], hit["line"])
            for truth in self.truths
            for hit in truth["recompile_limit"]["list"]
        )

    def compilations(self) -> Counter[tuple[str, int | None, int | None]]:
        return Counter(
            (c["compile_id"], c.get("guard_count"), c.get("graph_op_count"))
            for truth in self.truths
            for c in truth["compilations"]["list"]
        )


def scenarios(root: Path) -> Iterator[Scenario]:
    """All scenarios with a truth below `root`."""
    for path in sorted(root.glob("2.*/*/")):
        if any(path.glob("truth*.json*")) and path.name != "i_noise":
            major, minor = path.parent.name.split(".")[:2]
            yield Scenario(path, (int(major), int(minor)))


def setting_of(log: Path) -> str:
    return log.name.split(".")[1]


def found_breaks(log: CompileLog) -> Counter[Place]:
    found: Counter[Place] = Counter()
    for entry in log.graph_breaks:
        found[entry.file, entry.line] += entry.n
    return found


def found_skips(log: CompileLog) -> set[Place]:
    return {(skip.file, skip.line) for skip in log.frame_skips if skip.file and skip.line}


def found_recompiles(log: CompileLog) -> Counter[tuple[str, str, int]]:
    return Counter((r.function, r.file, r.line) for r in log.recompiles)


def found_limit_hits(log: CompileLog) -> Counter[tuple[str, str, int]]:
    return Counter((hit.function, hit.file, hit.line) for hit in log.limit_hits)


def check_text(scenario: Scenario, log: CompileLog, *, on: bool) -> None:
    """Compare a text log with the truth; `on`: the artifacts were switched on."""
    assert log.n_unparsed == 0, log.unparsed
    assert found_limit_hits(log) == scenario.limit_hits()
    if not on:
        assert not log.graph_breaks
        assert not log.recompiles
        return
    assert found_recompiles(log) == scenario.recompiles()
    skips, breaks = scenario.skips(), scenario.breaks()
    for place in scenario.data_dependent() if scenario.version < (2, 6) else ():
        del breaks[place]
    # 2.3 to 2.9: a break in a loop looks like a break, and its frame's place counts once more.
    looks_like_break = skips - found_skips(log) if (2, 3) <= scenario.version < (2, 10) else set()
    fullgraph = {(f.file, f.line) for f in log.failures}
    assert set(found_breaks(log)) == set(breaks) | (looks_like_break - fullgraph)
    assert found_skips(log) <= skips | scenario.failed_places()
    if scenario.version >= (2, 10):
        assert skips <= found_skips(log) | fullgraph
        assert found_breaks(log) == breaks


def check_structured(scenario: Scenario, log: CompileLog) -> None:
    """Compare a structured log with the truth."""
    version = scenario.version
    assert log.n_unparsed == 0, log.unparsed
    assert found_breaks(log) == (scenario.breaks() if version >= (2, 6) else Counter())
    shows_recompiles = version >= (2, 5)
    assert found_recompiles(log) == (scenario.recompiles() if shows_recompiles else Counter())
    assert found_limit_hits(log) == (scenario.limit_hits() if shows_recompiles else Counter())
    assert found_skips(log) <= scenario.skips() | scenario.failed_places()
    if version >= (2, 6):
        failures = {(f.file, f.line) for f in log.failures}
        assert scenario.skips() <= found_skips(log) | failures
    if version >= (2, 4):
        forward = [c for c in log.compilations if c.direction == "forward"]
        found = Counter((c.compile_id, c.guard_count, c.graph_op_count) for c in forward)
        assert found == scenario.compilations()


def check_merged(scenario: Scenario, log: CompileLog) -> None:
    """Compare text and structured log together with the truth."""
    breaks = scenario.breaks()
    if scenario.version < (2, 6):
        for place in scenario.data_dependent():
            del breaks[place]
        assert set(found_breaks(log)) == set(breaks)
    else:
        assert found_breaks(log) == breaks
    failures = {(f.file, f.line) for f in log.failures}
    # Until 2.5 a loop's frame is given up at a place that is a break of its callee as well.
    assert found_skips(log) <= scenario.skips() | scenario.failed_places() | set(breaks)
    assert scenario.skips() <= found_skips(log) | failures
    assert found_recompiles(log) == scenario.recompiles()
    assert found_limit_hits(log) == scenario.limit_hits()
    assert all(hit.limit for hit in log.limit_hits)


@cache
def _load(file: Path) -> dict[str, Any]:
    data = file.read_bytes()
    truth: dict[str, Any] = json.loads(gzip.decompress(data) if file.suffix == ".gz" else data)
    return truth
