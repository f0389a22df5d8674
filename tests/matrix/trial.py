"""What the product does with one environment: its own commands, as a user would type them."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.matrix.environments import ROOT, Environment, folder

OWN = ROOT / "tests" / "fixtures" / "own_project" / "net" / "model.py"

# name -> the words of the capture. breaky has three graph breaks and a counter that recompiles;
# the CNN is fused; the own project is a package with a data file.
CAPTURES = {
    "breaky": ("breaky",),
    "customcnn": ("customcnn", "--option=size=64"),
    "own": (f"{OWN}:build",),
}
# Enough to judge what is there; nothing is said about speed.
_SHORT = ("--device=cpu", "--rounds=3", "--round-seconds=0", "--steps=3")
_WITHIN_S = 1800


@dataclass(frozen=True)
class Answer:
    """What one command said: its JSON (None where it gave none), its text and its exit status."""

    status: int
    answer: dict[str, Any] | None
    text: str


@dataclass(frozen=True)
class Trial:
    """All answers about one environment, by name: doctor, and five for each of CAPTURES."""

    name: str
    answers: dict[str, Answer]
    seconds: float = 0.0

    def __getitem__(self, name: str) -> dict[str, Any]:
        """The JSON of an answer; empty where there was none."""
        return self.answers[name].answer or {}


def trial(environment: Environment) -> Trial:
    """Run doctor, the captures, and on each capture compare, logs and summary."""
    started = time.monotonic()
    place = folder() / f"trial-{environment.name}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    answers = {"doctor": _run(place, "doctor", "--python", str(environment.python))}
    for name, words in CAPTURES.items():
        out = place / name
        captured = _run(
            place, "capture", *words, *_SHORT, f"--python={environment.python}", f"--out={out}"
        )
        directory = Path((captured.answer or {}).get("directory") or out)
        answers[f"{name}.capture"] = captured
        answers[f"{name}.compare"] = _run(place, "compare", str(directory))
        answers[f"{name}.logs"] = _run(place, "logs", str(directory / "default"))
        answers[f"{name}.summary"] = _run(place, "summary", str(directory / "default"))
        traces = [str(directory / side / "trace.json.gz") for side in ("eager", "default")]
        answers[f"{name}.without_logs"] = _run(place, "compare", *traces)
    return Trial(environment.name, answers, round(time.monotonic() - started, 1))


def _run(place: Path, *words: str) -> Answer:
    done = subprocess.run(
        [sys.executable, "-m", "profiler_core", *words, "--json"],
        cwd=ROOT,
        env={**os.environ, "FUSIONSCOPE_HOME": str(place / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_WITHIN_S,
    )
    answer = json.loads(done.stdout) if done.stdout.startswith("{") else None
    return Answer(done.returncode, answer, done.stderr)
