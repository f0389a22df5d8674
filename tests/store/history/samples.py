"""Run directories for the tests: copies of the shipped H200 captures, re-dated and named so.

Nothing in them is made up but what a test changes on purpose: the date, the id, the commit, the
version of torch.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from profiler_core.store import history

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "sample_traces"


def redated_copy(
    home: Path,
    capture_id: str,
    *,
    sample: str = "breaky",
    variant: str = "default",
    created_at: str = "2026-11-21T12:00:00Z",
    whole: bool = False,
    environment: dict[str, Any] | None = None,
    slower: float = 1.0,
    **changes: Any,
) -> Path:
    """A run directory `<home>/runs/<capture_id>/<variant>`.

    Args:
        home: FUSIONSCOPE_HOME, or any folder that is to get `runs/`.
        capture_id: of the copy; its run_id is made of it.
        sample: the folder in sample_traces.
        variant: the run in it.
        created_at: the new date.
        whole: with trace and logs; else run.json alone, which is quick.
        environment: keys to change.
        slower: factor on the times of the rounds.
        changes: other keys of run.json to change.
    """
    source, target = SAMPLES / sample / variant, home / "runs" / capture_id / variant
    if whole:
        shutil.copytree(source, target)
    else:
        target.mkdir(parents=True)
    run = json.loads((source / "run.json").read_text())
    run |= {
        "run_id": f"{capture_id}.{variant}",
        "capture_id": capture_id,
        "baseline_run_id": f"{capture_id}.eager" if run["role"] == "candidate" else None,
        "created_at": created_at,
        **changes,
    }
    run["environment"] |= environment or {}
    for one in (run["measurement"] or {}).get("rounds", ()):
        one["wall_ns"] = round(one["wall_ns"] * slower)
    (target / "run.json").write_text(json.dumps(run))
    return target


def outdated(rules, *, at=None):
    """Runs whose files would go by these rules, oldest first."""
    return tuple(removal.run for removal in history.planned(rules, at=at).removals)
