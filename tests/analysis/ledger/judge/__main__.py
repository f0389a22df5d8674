"""The accuracy of the ledger: right, wrong and undecidable device time of each pair.

python -m tests.analysis.ledger.judge [--mistakes N] [--ablation] [--write] [--only NAME] [FOLDER]…
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.analysis.ledger.judge.ablation import ablation_rows
from tests.analysis.ledger.judge.pairs import all_pairs, judged, shown_beside
from tests.analysis.ledger.judge.tables import write_tables


def main() -> None:
    """Print one row for each pair, with and without structured logs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mistakes", type=int, default=0, help="show the largest of each pair")
    parser.add_argument("--only", default="", help="pairs whose name contains this")
    parser.add_argument("folders", nargs="*", type=Path, help="folders of captures")
    parser.add_argument("--ablation", action="store_true", help="what each rule is worth")
    parser.add_argument("--write", action="store_true", help="write docs/ledger.md's tables anew")
    given = parser.parse_args()
    pairs = [pair for pair in all_pairs(given.folders) if given.only in pair[0]]
    if given.write:
        write_tables(pairs, given.ablation)
        return
    if given.ablation:
        print(*ablation_rows(pairs), sep="\n")
        return
    print("| pair | logs | baseline: wrong | undecidable | merged | candidate: wrong | undecidable "
          "| merged |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    for name, baseline, candidate in pairs:
        beside = shown_beside(candidate)
        ways = [("yes", True, []), ("no", False, []), ("no, beside default", False, beside)]
        for how, logs, others in ways if beside else ways[:2]:
            verdicts = judged(baseline, candidate, logs, others)
            if not all(v.total for v in verdicts):
                raise SystemExit(f"{name}: no device event of the trace is in the ledger.")
            cells = [
                f"{100 * part / max(1, whole):.1f} %"
                for v in verdicts
                for part, whole in (
                    (v.wrong, v.decidable),
                    (v.undecidable, v.total),
                    (v.merged, v.total),
                )
            ]
            print(f"| {name} | {how} | {' | '.join(cells)} |")
            for verdict in verdicts if given.mistakes else ():
                for title, time_ns in verdict.mistakes.most_common(given.mistakes):
                    print(f"      {time_ns / 1000:9.1f} µs  {title}", file=sys.stderr)


if __name__ == "__main__":
    # Columns of its own: those of the user's home may be by another version of a reader at work.
    with tempfile.TemporaryDirectory() as home:
        os.environ["FUSIONSCOPE_HOME"] = home
        main()
