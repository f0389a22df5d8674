"""What the what-if engine predicts on one run against what a run with the change took.

    python benchmarks/what_if_judge.py ROOT… [--write docs/what_if.md]

The pairs are listed in benchmarks/what_if_pairs.txt. The prediction is made on the first run of a
pair alone; a pair that lies under no root is left out, and said. Prints a table of pairs and one by
lever; `--write` puts both between the markers of the document.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from profiler_core.analysis.findings import Finding
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.what_if.change import LEVERS, Change, Lever
from profiler_core.analysis.what_if.engine import DEVICE_SPREAD, WhatIf
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.session.run import Run
from profiler_core.units import format_duration, format_durations, format_share

PAIRS = Path(__file__).with_name("what_if_pairs.txt")
# Levers that are asked of the engine itself: their findings have thresholds.
_DIRECT: tuple[Lever, ...] = ("graph_replay", "no_breaks")
# Below this share of the step a factor says nothing: both are noise.
_LEAST_SHARE = 0.05
_START, _END = "<!-- judged -->", "<!-- /judged -->"


@dataclass(frozen=True)
class Judged:
    """One pair: what was predicted and what became of it, ns per step."""

    lever: Lever
    name: str
    step_ns: float
    predicted: Prediction
    realised_ns: float

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
        return self.predicted.low_ns - noise <= self.realised_ns <= self.predicted.high_ns + noise


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


def _run_at(roots: Sequence[Path], pattern: str) -> Run | None:
    for root in roots:
        for path in sorted(root.glob(pattern)):
            if (path / "run.json").is_file():
                return Run.open(path)
    return None


def _predicted(lever: Lever, run: Run, step_ns: float | None) -> Prediction | None:
    if lever in _DIRECT:
        return WhatIf(run.required_trace(), step_ns).saved(Change(lever))
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
            f"{format_durations(said.low_ns, said.high_ns)} | {format_duration(row.realised_ns)} | "
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
    parser.add_argument("--write", type=Path, metavar="FILE")
    args = parser.parse_args()
    judged, left_out = judge(args.roots)
    text = "\n".join([*lever_lines(judged), "", *pair_lines(judged)])
    print(text, *left_out, sep="\n")
    if args.write is not None:
        before, _, rest = args.write.read_text().partition(_START)
        _, _, after = rest.partition(_END)
        args.write.write_text(f"{before}{_START}\n\n{text}\n\n{_END}{after}")


if __name__ == "__main__":
    main()
