"""Which pairs there are, and the product's answer for them in the judge's words."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import polars as pl

from profiler_core.analysis.ledger.ledger import FusionLedger, LedgerSide, fusion_ledger
from profiler_core.analysis.work import device_work
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.model.inductor import InductorLog
from tests.analysis.ledger.judge.code import Module
from tests.analysis.ledger.judge.log import read_log
from tests.analysis.ledger.judge.programs import read_program
from tests.analysis.ledger.judge.trace import DeviceEvent, Step, read_steps
from tests.analysis.ledger.judge.verdict import Verdict, judge
from tests.analysis.traces import trace_of
from tests.larger import JUDGE_PAIRS, LARGER, unpacked

ROOT = Path(__file__).resolve().parents[4]


def all_pairs(folders: Sequence[Path] = ()) -> Iterator[tuple[str, Path, Path]]:
    """(name, baseline, candidate): every eager run with every other run of its workload."""
    for folder in list(folders) or [
        ROOT / "tests" / "fixtures" / "ledger",
        *sorted((ROOT / "sample_traces").glob("*/")),
        LARGER / "captures",
        *sorted(unpacked(JUDGE_PAIRS).glob("*/")),
    ]:
        runs = sorted(p for p in folder.iterdir() if (p / "trace.json.gz").exists())
        for baseline in runs:
            if "eager" not in baseline.name or "stack" in baseline.name:
                continue
            for candidate in runs:
                if "eager" not in candidate.name and _workload(baseline) == _workload(candidate):
                    yield f"{folder.name}: {baseline.name} → {candidate.name}", baseline, candidate
        # Compiled by the program itself, part by part: the variant is "eager" all the same.
        regional = folder.with_name(f"{folder.name}_compiled") / "eager"
        if (folder / "eager").is_dir() and regional.is_dir():
            yield f"{folder.name}: eager → compiled by the program", folder / "eager", regional


def _workload(run: Path) -> tuple[str, str]:
    """`bert.eager+amp` -> ("bert", "amp"): what both runs of a pair have in common."""
    head, _, variant = run.name.rpartition(".")
    return head, variant.partition("+")[2].replace("static", "")


def _logs(run: Path) -> list[Path]:
    return sorted([*run.glob("torch_trace/*.log*"), *run.glob("torch_trace.log*")])


def ledger_of(baseline: Path, candidate: Path, logs: bool) -> FusionLedger:
    """The product's own answer for a pair."""
    return fusion_ledger(*(ledger_side(run, logs) for run in (baseline, candidate)))


def judged(
    baseline: Path, candidate: Path, logs: bool, beside: Sequence[Path] = ()
) -> tuple[Verdict, Verdict]:
    """The judge's verdict on the ledger of a pair, all kinds of steps added up.

    Args:
        baseline: a run.
        candidate: another one.
        logs: may the product read their structured logs?
        beside: further runs that the product is shown, without logs.
    """
    sides = [ledger_side(run, logs) for run in (baseline, candidate)]
    ledger = fusion_ledger(*sides, [ledger_side(run, False) for run in beside])
    lookups = (
        groups_of(sides[0], ledger.baseline_group),
        groups_of(sides[1], ledger.candidate_group),
    )
    left_open = (
        open_to(sides[0], ledger.baseline_undecided),
        open_to(sides[1], ledger.candidate_undecided),
    )
    steps = [steps_of(run) for run in (baseline, candidate)]
    modules = [modules_of(run) for run in (baseline, candidate)]
    seen = set()
    total = (Verdict(), Verdict())
    for left, right in zip(*steps, strict=False):
        key = left.signature, right.signature
        if key in seen:
            continue
        seen.add(key)
        programs = (read_program(left, modules[0]), read_program(right, modules[1]))
        for whole, part in zip(total, judge(programs, lookups, left_open), strict=True):
            whole.right += part.right
            whole.wrong += part.wrong
            whole.undecidable += part.undecidable
            whole.left_open += part.left_open
            whole.merged += part.merged
            whole.mistakes += part.mistakes
            whole.doubts += part.doubts
    return total


def ledger_side(run: Path, logs: bool) -> LedgerSide:
    paths = _logs(run) if logs else []
    log = inductor_log(tuple(paths)) if paths else None
    return LedgerSide(trace_of(run / "trace.json.gz"), log if log and log.graphs else None)


@cache
def inductor_log(paths: tuple[Path, ...]) -> InductorLog:
    """The product's reading of structured logs: frozen, and asked for by many tests."""
    return read_inductor(paths)


@cache  # a quarter of a second per run, which is judged with logs and without, and by rules
def steps_of(run: Path) -> list[Step]:
    """The judge's own reading of a run's trace."""
    return read_steps(run / "trace.json.gz")


@cache
def modules_of(run: Path) -> list[Module]:
    """The judge's own reading of a run's structured logs."""
    return read_log(_logs(run))


def shown_beside(candidate: Path) -> list[Path]:
    """The run of the same program without CUDA graphs, where there is one."""
    plain = candidate.with_name(candidate.name.replace("reduce-overhead", "default"))
    return [plain] if plain != candidate and (plain / "trace.json.gz").exists() else []


def open_to(side: LedgerSide, undecided: object) -> Callable[[DeviceEvent], bool]:
    number = groups_of(side, pl.Series(undecided).cast(pl.Int32))
    return lambda event: bool(number(event))


def groups_of(side: LedgerSide, group_of: object) -> Callable[[DeviceEvent], int | None]:
    work = device_work(side.trace).with_columns(
        pl.col("name").cast(pl.String), pl.Series("group", group_of)
    )
    rows = defaultdict(list)
    for name, ts, group in work.sort("ts_ns").select("name", "ts_ns", "group").iter_rows():
        rows[name].append((ts, group))

    def group(event: DeviceEvent) -> int | None:
        """The event's row: of its name the one that starts with it, within rounding."""
        at = event.ts_ns - side.trace.origin_ns
        same = rows.get(event.name, [])
        place = bisect_left(same, (at, -1))
        near = min(
            same[max(0, place - 1) : place + 1], key=lambda row: abs(row[0] - at), default=None
        )
        if near is None or abs(near[0] - at) > 5 or near[1] < 0:
            return None
        return int(near[1])

    return group
