"""A comparison's numbers and report in Weights & Biases, MLflow or TensorBoard.

from fusionscope.integrations.trackers import to_mlflow, to_tensorboard, to_wandb
to_wandb(fusionscope.open("runs/"), run)
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Optional

_PREFIX = "fusionscope"


def tracked_numbers(comparison: Any) -> Dict[str, float]:
    """What is worth a line over time, of each pair of the comparison.

    Args:
        comparison: a `fusionscope.Comparison` or `fusionscope.Pair`.

    Returns:
        "LABEL/NAME" -> number, such as "default/speed_up"; a number that is not known is left out.
        Times per step in ms, compiling in s, memory in GB, as the unprofiled clock has them where
        there is one; kernels are launches per step.
    """
    pairs = comparison.pairs if hasattr(comparison, "pairs") else [comparison]
    return {
        "{}/{}".format(pair.label, name): value
        for pair in pairs
        for name, value in _numbers(pair.to_dict()).items()
        if value is not None
    }


def to_wandb(comparison: Any, run: Any = None) -> None:
    """Log the numbers, the verdict and the report to a run of Weights & Biases.

    Args:
        comparison: a `fusionscope.Comparison` or `fusionscope.Pair`.
        run: as `wandb.init` returned it; the one that is active where it is left out.
    """
    import wandb

    run = run if run is not None else wandb.run
    if run is None:
        raise ValueError("No run of Weights & Biases is active: call wandb.init() before.")
    run.log({"{}/{}".format(_PREFIX, k): v for k, v in tracked_numbers(comparison).items()})
    run.summary[_PREFIX + "/verdict"] = comparison.headline
    with _report(comparison, "html") as path:
        html = path.read_text(encoding="utf-8")
        run.log({_PREFIX + "/report": wandb.Html(html, inject=False)})  # it has its own styles


def to_mlflow(comparison: Any, step: Optional[int] = None) -> None:
    """Log the numbers, the verdict and the report to the active run of MLflow.

    Args:
        comparison: a `fusionscope.Comparison` or `fusionscope.Pair`.
        step: of the metrics.
    """
    import mlflow

    numbers = tracked_numbers(comparison)
    mlflow.log_metrics({"{}/{}".format(_PREFIX, k): v for k, v in numbers.items()}, step=step)
    mlflow.set_tag(_PREFIX + ".verdict", comparison.headline)
    with _report(comparison, "html") as path:
        mlflow.log_artifact(str(path), artifact_path=_PREFIX)


def to_tensorboard(comparison: Any, writer: Any, step: Optional[int] = None) -> None:
    """Add the numbers as scalars and the report as text to a log of TensorBoard.

    Args:
        comparison: a `fusionscope.Comparison` or `fusionscope.Pair`.
        writer: a `SummaryWriter` of torch or of tensorboardX.
        step: of scalars and text.
    """
    for name, value in tracked_numbers(comparison).items():
        writer.add_scalar("{}/{}".format(_PREFIX, name), value, step)
    with _report(comparison, "md") as path:
        writer.add_text(_PREFIX + "/report", path.read_text(encoding="utf-8"), step)
    writer.flush()


def _numbers(answer: Dict[str, Any]) -> Dict[str, Optional[float]]:
    """Of what `compare --json` says of one candidate."""
    step, compiling = answer["step_time"], answer["compile"]
    low, high = step["interval"] or (None, None)
    return {
        "step_ms": _scaled(step["candidate_ns"], 1e-6),
        "baseline_step_ms": _scaled(step["baseline_ns"], 1e-6),
        "speed_up": step["ratio"],
        "speed_up_low": low,
        "speed_up_high": high,
        "kernels_per_step": answer["n_kernels"][1],
        "baseline_kernels_per_step": answer["n_kernels"][0],
        "kernel_ms": _scaled(answer["kernel_time_ns"][1], 1e-6),
        "baseline_kernel_ms": _scaled(answer["kernel_time_ns"][0], 1e-6),
        "compile_s": compiling["seconds"],
        "break_even_steps": compiling["break_even_steps"],
        "peak_memory_gb": _scaled(answer["memory"]["peak_reserved_bytes"][1], 1e-9),
        "baseline_peak_memory_gb": _scaled(answer["memory"]["peak_reserved_bytes"][0], 1e-9),
    }


def _scaled(value: Optional[float], factor: float) -> Optional[float]:
    return None if value is None else value * factor


@contextmanager
def _report(comparison: Any, ending: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield comparison.report(Path(folder) / "{}.{}".format(_PREFIX, ending))
