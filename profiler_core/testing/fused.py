"""`assert_stays_fused`: the groups of the fusion ledger against a snapshot beside the test."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.errors import FusionscopeError
from profiler_core.session.comparison import Comparison
from profiler_core.testing.compiled import (
    LeftOutError,
    compiled_anew,
    recorded,
    told,
    uncompiled,
)
from profiler_core.units import format_duration

_FOLDER = "fused"


@dataclass(frozen=True)
class Fused:
    """Operators that became fewer kernels together."""

    operators: tuple[str, ...]  # sorted, each as often as a step calls it
    n_kernels: int  # per step


def snapshot_path(file: Path, test: str, name: str) -> Path:
    """Where the snapshot of a test lies."""
    parts = filter(None, (file.stem, test, name))
    return file.parent / _FOLDER / (re.sub(r"[^\w.-]+", "-", ".".join(parts))[:180] + ".json")


def stays_fused(
    model: Any, inputs: Sequence[Any], folder: Path, path: Path, *, writes: bool
) -> str:
    """What is wrong; "" where every group of the snapshot is still one.

    Args:
        model: a module or a function.
        inputs: its arguments.
        folder: for the two recordings.
        path: of the snapshot.
        writes: write it anew instead.

    Raises:
        LeftOutError: the two recordings cannot be matched.
    """
    groups = _groups(model, inputs, folder)
    now = [(_fused(group), group) for group in groups]
    if writes:
        _write(path, [fused for fused, _ in now if _is_fusion(fused)])
        return ""
    try:
        wanted = _read(path)
    except FileNotFoundError:
        return f"{path} is not there. Write it: pytest --fusionscope-update."
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{path} is no snapshot ({told(error)}). Write it anew: pytest --fusionscope-update."
    return "\n".join(_broken(wanted, now))


def _groups(model: Any, inputs: Sequence[Any], folder: Path) -> list[FusionGroup]:
    eager = uncompiled(model)
    try:
        compiled = compiled_anew(model)
        with torch.no_grad():
            before = recorded(lambda: eager(*inputs), folder, "eager")
            after = recorded(lambda: compiled(*inputs), folder, "default")
        ledger = Comparison.open([before, after]).check().pairs[0].ledger
    except FusionscopeError as error:
        raise LeftOutError(told(error)) from error
    finally:
        torch._dynamo.reset()
    return [group for group in ledger.groups if group.kind in ("matched", "removed")]


def _fused(group: FusionGroup) -> Fused:
    operators = Counter(
        {op.op: max(1, round(group.per_own_step(op.n, 0))) for op in group.baseline.operators}
    )
    n_kernels = round(group.per_own_step(group.candidate.n_events, 1))
    return Fused(tuple(sorted(operators.elements())), n_kernels)


def _is_fusion(fused: Fused) -> bool:
    return len(fused.operators) > max(1, fused.n_kernels)


def _broken(wanted: Sequence[Fused], now: Sequence[tuple[Fused, FusionGroup]]) -> list[str]:
    """Lines about each group of the snapshot that is none any more; the largest claims first."""
    left = [Counter(fused.operators) for fused, _ in now]  # what no group has claimed yet
    lines: list[str] = []
    for group in sorted(wanted, key=lambda fused: -len(fused.operators)):
        needed = Counter(group.operators)
        most = max(group.n_kernels, 1)
        match = next(
            (
                number
                for number, (fused, _) in enumerate(now)
                if needed <= left[number] and fused.n_kernels <= most
            ),
            None,
        )
        if match is not None:
            left[match] = left[match] - needed
            continue
        title = " + ".join(group.operators)
        lines.append(f"  {title}: was {_kernels(group.n_kernels)}, and is now")
        lines += _what_became(needed, now)
    if not lines:
        return []
    n = sum(not line.startswith("    ") for line in lines)
    return [f"{n} fused group{'' if n == 1 else 's'} came apart:", *lines]


def _what_became(needed: "Counter[str]", now: Sequence[tuple[Fused, FusionGroup]]) -> list[str]:
    lines = []
    for fused, group in now:
        if needed & Counter(fused.operators):
            source = f", {group.sources[0][0]}" if group.sources else ""
            lines.append(
                f"    {group.title} as {_kernels(fused.n_kernels)}, "
                f"{format_duration(group.candidate_step_ns)} per step{source}"
            )
    return lines or ["    nothing that the ledger can place"]


def _kernels(n: int) -> str:
    return f"{n} kernel{'' if n == 1 else 's'}"


def _read(path: Path) -> list[Fused]:
    document = json.loads(path.read_text("utf-8"))
    return [Fused(tuple(group["operators"]), int(group["kernels"])) for group in document["groups"]]


def _write(path: Path, groups: Sequence[Fused]) -> None:
    ordered = sorted(groups, key=lambda fused: (fused.operators, fused.n_kernels))
    document = {
        "torch": torch.__version__.split("+")[0],
        "groups": [{"operators": list(g.operators), "kernels": g.n_kernels} for g in ordered],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
