"""How often the gate passes the same code, and how often it sees a slowdown of 5 %.

    python -m benchmarks.gate_power [--tries 20] [--share 0.05] [--limit +3%] [--device auto]

Each try is one capture with our own command: a baseline, the same code again (A/A), and the same
code with a sleep of `share` of its step, all timed in turns. The gate then judges both. Across
captures it judges the same code once more, baseline of one try against A/A of the next: that is
what a kept baseline is, not timed in turns.

On an H200 steps of some milliseconds: --width 4096 --depth 8 --batch-size 2048.
"""

import argparse
import collections
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.gate_workload import SLOW
from profiler_core.cli.main import main as fusionscope

_VARIANTS = ("backend:eager", "aot_eager", SLOW)
_FOLDERS = ("backend-eager", "aot_eager", SLOW)
_WORKLOAD = Path(__file__).with_name("gate_workload.py")


def main() -> None:
    """Capture, judge, print counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.05, help="of the step, slept")
    parser.add_argument("--limit", default="+3%")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--python", help="interpreter that has torch; this one by default")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--keep", type=Path, help="keep the captures in this folder")
    arguments = parser.parse_args()
    began = time.monotonic()
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        former: Path | None = None
        for number in range(arguments.tries):
            capture = _capture(arguments, folder / f"try-{number:02d}")
            baseline, same, slow = (capture / name for name in _FOLDERS)
            answers = {
                "A/A, in turns": _gate(baseline, same, arguments.limit),
                f"+{arguments.share:.0%}, in turns": _gate(baseline, slow, arguments.limit),
            }
            if former is not None:
                answers["A/A, kept baseline"] = _gate(former, same, arguments.limit)
                answers[f"+{arguments.share:.0%}, kept baseline"] = _gate(
                    former, slow, arguments.limit
                )
            former = baseline
            for name, (outcome, text) in answers.items():
                counts[name][outcome] += 1
                print(f"{number:3d}  {name:22}  {outcome:12}  {text}", flush=True)
    print(f"\n{arguments.tries} tries, limit {arguments.limit}, {time.monotonic() - began:.0f} s")
    for name, outcomes in counts.items():
        print(f"{name:22}  {', '.join(f'{n} {outcome}' for outcome, n in outcomes.most_common())}")


def _capture(arguments: argparse.Namespace, out: Path) -> Path:
    command = [
        *(sys.executable, "-m", "profiler_core", "capture", f"{_WORKLOAD}:model"),
        *("--variants", ",".join(_VARIANTS), "--device", arguments.device),
        *("--option", f"width={arguments.width}", "--option", f"depth={arguments.depth}"),
        *("--option", f"share={arguments.share}", "--batch-size", str(arguments.batch_size)),
        *("--rounds", str(arguments.rounds), "--telemetry-seconds", "0", "--no-profile"),
        *(("--python", arguments.python) if arguments.python else ()),
        *("--no-memory", "--no-numerics", "--no-warm-compile", "--out", str(out)),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"The capture failed:\n{ended.stderr}")
    return next(path for path in out.iterdir() if path.is_dir())


def _gate(baseline: Path, candidate: Path, limit: str) -> tuple[str, str]:
    out = io.StringIO()
    words = ["gate", str(baseline), str(candidate), "--max-step-time", limit, "--json"]
    with contextlib.redirect_stdout(out):
        fusionscope(words)
    answer = json.loads(out.getvalue())
    return answer["outcome"], answer["checks"][0]["sentence"]


if __name__ == "__main__":
    main()
