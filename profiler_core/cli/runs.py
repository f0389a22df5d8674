"""From what stands on the command line to a run, or to runs beside each other."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from profiler_core.session.comparison import Comparison
from profiler_core.session.folder import runs_of


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Declare `baseline` and `candidates`, as the verbs that compare take them."""
    parser.add_argument(
        "baseline",
        type=Path,
        metavar="BASELINE_OR_FOLDER",
        help="a run, a trace, or the folder of a capture (sides by their role)",
    )
    parser.add_argument("candidates", type=Path, nargs="*", metavar="CANDIDATE")


def comparison_of(baseline: Path, candidates: Sequence[Path]) -> Comparison:
    """The runs that were named; a folder alone stands for all of its runs.

    Raises:
        NotARun: no run or trace lies there, or a folder holds no two runs.
        BadInput: a trace cannot be read, and its run was not timed either.
    """
    paths = [baseline, *candidates] if candidates else runs_of(baseline)
    return Comparison.open(paths).check()
