"""What the what-if engine predicts on one run against what a run with the change took.

    python benchmarks/what_if_judge.py ROOT… [--captures] [--write docs/what_if.md]

The pairs are listed in benchmarks/what_if_pairs.txt. The prediction is made on the first run of a
pair alone; a pair that lies under no root is left out, and said. With --captures the roots hold
what `benchmarks.what_if_captures` made: every finding of every run is judged of which the capture
has a run with the change, and those of 5 % of the step or more are listed of which it has none.
Prints a table of pairs and one by lever; `--write` puts both between the markers of the document.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.step_time import compare_unprofiled, step_time_ns
from profiler_core.analysis.what_if.change import LEVERS, Change, Lever
from profiler_core.analysis.what_if.engine import DEVICE_SPREAD, WhatIf
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.analysis.what_if.replay_inputs import replay_inputs
from profiler_core.session.run import Run
from profiler_core.units import format_duration, format_durations, format_share

PAIRS = Path(__file__).with_name("what_if_pairs.txt")
# Levers that are asked of the engine itself: their findings have thresholds.
_DIRECT: tuple[Lever, ...] = ("graph_replay", "no_breaks")
# Of planted faults, those that the engine is asked about where no finding is.
_ASKED: tuple[Lever, ...] = ("no_syncs", "lighter_guards")
# Below this share of the step a factor says nothing: both are noise.
_LEAST_SHARE = 0.05
# Of captured workloads: the word of a variant that makes the change, or the one of the mode.
_WORDS: dict[str, str] = {
    "tf32": "+tf32",
    "half_precision": "+bf16-autocast",
    "channels_last": "+channels_last",
    "no_breaks": "+dynamo.capture_dynamic_output_shape_ops=true+dynamo.capture_scalar_outputs=true",
}
# Of planted faults: what their repaired version changes.
REPAIRED: dict[str, Lever] = {
    "breaks": "no_breaks",
    "shape_breaks": "no_breaks",
    "value_breaks": "no_breaks",
    "syncs": "no_syncs",
    "pageable_copies": "pinned_copies",
    "small_copies": "joined_copies",
    "plain_optimizer": "fused_optimizer",
    "uneven_shapes": "even_shapes",
    "guards": "lighter_guards",
}


@dataclass(frozen=True)
class Judged:
    """One pair: what was predicted and what became of it, ns per step.

    between: the 95 % interval of what was realised, of rounds that were timed in turns; None: the
    runs were not.
    """

    lever: Lever
    name: str
    step_ns: float
    predicted: Prediction
    realised_ns: float
    between: tuple[float, float] | None = None

    @property
    def is_large(self) -> bool:
        """Is it about enough of a step to speak of a factor?"""
        least = _LEAST_SHARE * self.step_ns
        return max(abs(self.predicted.expected_ns), abs(self.realised_ns)) >= least

    @property
    def error(self) -> float:
        """Of what was realised."""
        return abs(self.predicted.expected_ns - self.realised_ns) / abs(self.realised_ns)

    @property
    def factor(self) -> float:
        """1 where they agree; infinite where one is a gain and the other none."""
        said, was = self.predicted.expected_ns, self.realised_ns
        pair = abs(said), abs(was)
        return max(pair) / min(pair) if said * was > 0 else float("inf")

    @property
    def is_within(self) -> bool:
        """Does the interval hold the truth, as far as the clocks of two processes are one?"""
        noise = DEVICE_SPREAD * self.step_ns
        low, high = self.between or (self.realised_ns, self.realised_ns)
        return self.predicted.low_ns - noise <= high and low <= self.predicted.high_ns + noise

    @property
    def realised_text(self) -> str:
        """With its interval, where it has one."""
        between = "" if self.between is None else f" ({format_durations(*self.between)})"
        return f"{format_duration(self.realised_ns)}{between}"


def listed() -> list[tuple[Lever, str, str]]:
    """(lever, run to predict on, run that has it) of the list, as patterns."""
    rows = [
        line.split("\t") for line in PAIRS.read_text().splitlines() if line[:1] not in ("", "#")
    ]
    return [
        (lever, before, after) for lever in LEVERS for name, before, after in rows if name == lever
    ]


def judge(roots: Sequence[Path]) -> tuple[list[Judged], list[str]]:
    """(all pairs that lie under one of the roots and have a prediction, what was left out)."""
    judged, left_out = [], []
    for lever, before, after in listed():
        runs = [_run_at(roots, pattern) for pattern in (before, after)]
        if runs[0] is None or runs[1] is None:
            left_out.append(f"{before}: not here")
            continue
        step_ns, other_ns = (step_time_ns(run.record.measurement) for run in runs if run)
        predicted = _predicted(lever, runs[0], step_ns)
        if predicted is None or step_ns is None or other_ns is None:
            left_out.append(f"{before}: {lever} is not predicted")
            continue
        judged.append(
            Judged(lever, before.replace("/*", ""), step_ns, predicted, step_ns - other_ns)
        )
    return judged, left_out


def judge_captures(roots: Sequence[Path]) -> tuple[list[Judged], list[str]]:
    """(findings whose change another run of the capture has, those of 5 % that none has)."""
    judged: list[Judged] = []
    left_out: list[str] = []
    for root in roots:
        for path in sorted(root.rglob("capture.json"), key=lambda path: path.parent.parent.name):
            runs = [Run.open(folder.parent) for folder in sorted(path.parent.glob("*/run.json"))]
            timed = [run for run in runs if step_time_ns(run.record.measurement)]
            for run in timed:
                rows, others = _of_run(run, timed)
                judged += rows
                left_out += others
    return judged, left_out


def _of_run(run: Run, others: Sequence[Run]) -> tuple[list[Judged], list[str]]:
    step_ns = step_time_ns(run.record.measurement)
    if run.record.spec.get("is_against") or run.trace is None or step_ns is None:
        return [], []
    name = f"{run.record.spec['name']}/{run.record.variant}"
    predictions = [
        (finding.change.lever, finding.prediction)
        for finding in _every(run.alone.findings or ())
        if finding.change is not None and finding.prediction is not None
    ]
    planted = REPAIRED.get(str(run.record.spec["name"]))
    if planted in _ASKED and planted not in dict(predictions):
        said = WhatIf(run.trace, step_ns).saved(Change(planted))
        predictions += [] if said is None else [(planted, said)]
    judged, left_out = [], []
    for lever, said in predictions:
        partner = next((other for other in others if _has(other, run, lever)), None)
        other_ns = None if partner is None else step_time_ns(partner.record.measurement)
        if partner is not None and other_ns is not None:
            between = _between(run, partner, step_ns)
            judged.append(Judged(lever, name, step_ns, said, step_ns - other_ns, between))
        elif said.high_ns >= _LEAST_SHARE * step_ns:
            left_out.append(
                f"{name}: {lever}, {'≤ ' if said.is_bound else ''}"
                f"{format_duration(said.high_ns if said.is_bound else said.expected_ns)} of "
                f"{format_duration(step_ns)}"
            )
    return judged, left_out


def _between(run: Run, partner: Run, step_ns: float) -> tuple[float, float] | None:
    """What the partner saves at least and at most, by the rounds of both."""
    measurements = run.record.measurement, partner.record.measurement
    if measurements[0] is None or measurements[1] is None:
        return None
    time = compare_unprofiled(measurements[0], measurements[1], interleaved=True)
    if time is None or time.interval is None:
        return None
    low, high = (step_ns * (1 - 1 / ratio) for ratio in time.interval)
    return low, high


def _has(other: Run, run: Run, lever: Lever) -> bool:
    """Does the other run differ from this one in the lever, and in nothing else?"""
    name, variant = str(run.record.spec["name"]), run.record.variant
    if REPAIRED.get(name) == lever and other.record.spec.get("is_against"):
        return other.record.variant == variant
    if bool(other.record.spec.get("is_against")) != bool(run.record.spec.get("is_against")):
        return False
    if lever == "graph_replay":
        return (variant, other.record.variant) == ("default", "reduce-overhead")
    return lever in _WORDS and other.record.variant == f"{variant}{_WORDS[lever]}"


def _run_at(roots: Sequence[Path], pattern: str) -> Run | None:
    for root in roots:
        for path in sorted(root.glob(pattern)):
            if (path / "run.json").is_file():
                return Run.open(path)
    return None


def _predicted(lever: Lever, run: Run, step_ns: float | None) -> Prediction | None:
    if lever in _DIRECT:
        trace = run.required_trace()
        inputs = replay_inputs(run.code, peaks_of(run.required_summary().device.name))
        change = Change(lever, inputs=inputs if lever == "graph_replay" else ())
        return WhatIf(trace, step_ns).saved(change)
    return next(
        (
            finding.prediction
            for finding in _every(run.alone.findings or ())
            if finding.change is not None and finding.change.lever == lever
        ),
        None,
    )


def _every(findings: Iterable[Finding]) -> Iterable[Finding]:
    for finding in findings:
        yield finding
        yield from finding.alternatives


def pair_lines(judged: Sequence[Judged]) -> list[str]:
    """A Markdown table, one row a pair."""
    lines = [
        "| lever | predicted on | step | predicted | interval | realised | within |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in judged:
        said = row.predicted
        lines.append(
            f"| `{row.lever}` | {row.name} | {format_duration(row.step_ns)} | "
            f"{'≤ ' if said.is_bound else ''}{format_duration(said.expected_ns)} | "
            f"{format_durations(said.low_ns, said.high_ns)} | {row.realised_text} | "
            f"{'yes' if row.is_within else 'no'} |"
        )
    return lines


def lever_lines(judged: Sequence[Judged]) -> list[str]:
    """A Markdown table, one row a lever; errors of pairs with 5 % of the step at stake."""
    lines = [
        "| lever | pairs | with ≥ 5 % of the step | median error | worst factor | truth within |",
        "|---|---|---|---|---|---|",
    ]
    for lever in dict.fromkeys(row.lever for row in judged):
        rows = [row for row in judged if row.lever == lever]
        large = [row for row in rows if row.is_large]
        error = format_share(median(row.error for row in large)) if large else "–"
        worst = max((row.factor for row in large), default=None)
        factor = "–" if worst is None else "other sign" if worst == float("inf") else f"{worst:.2f}"
        n_within = sum(row.is_within for row in rows)
        lines.append(
            f"| `{lever}` | {len(rows)} | {len(large)} | {error} | {factor} | "
            f"{n_within} of {len(rows)} |"
        )
    return lines


def main() -> None:
    """Print both tables, or write them into the document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("roots", nargs="+", type=Path, metavar="ROOT")
    parser.add_argument("--captures", action="store_true", help="judge what_if_captures' folders")
    parser.add_argument("--write", type=Path, metavar="FILE")
    args = parser.parse_args()
    judged, left_out = (judge_captures if args.captures else judge)(args.roots)
    text = "\n".join([*lever_lines(judged), "", *pair_lines(judged)])
    print(text, *left_out, sep="\n")
    if args.write is not None:
        mark = "captured" if args.captures else "judged"
        start, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
        before, _, rest = args.write.read_text().partition(start)
        _, _, after = rest.partition(end)
        args.write.write_text(f"{before}{start}\n\n{text}\n\n{end}{after}")


if __name__ == "__main__":
    main()
