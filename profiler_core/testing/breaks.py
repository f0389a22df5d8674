"""`assert_no_graph_breaks`: asked of Dynamo itself, and explained by a short recording."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from profiler_core.analysis.compilation.report import BreakReport, CompilationReport
from profiler_core.analysis.wording.compilation import break_line
from profiler_core.analysis.wording.sentence import ended
from profiler_core.session.run import Run
from profiler_core.testing.compiled import compiled_anew, recorded, told, uncompiled
from profiler_core.units import format_duration


def no_breaks(model: Any, inputs: Sequence[Any], folder: Path, *, backend: str) -> str:
    """What is wrong; "" where the whole call is one graph.

    Args:
        model: a module or a function.
        inputs: its arguments.
        folder: for the recording that tells what the breaks cost.
        backend: with which that recording compiles.
    """
    uncompiled(model)(*inputs)  # an error of the model itself is told as it is
    try:
        # Dynamo alone decides where a graph ends: the backend would only cost time.
        compiled_anew(model, backend="eager", fullgraph=True)(*inputs)
    except torch._dynamo.exc.TorchDynamoException as error:
        first = error
    else:
        return ""
    finally:
        torch._dynamo.reset()
    lines = _explained(model, inputs, folder, backend)
    return "\n".join(lines or ["Dynamo cannot take the model as one graph:", _first_lines(first)])


def _explained(model: Any, inputs: Sequence[Any], folder: Path, backend: str) -> list[str]:
    """A line for each break and each frame that runs eager; empty where no log tells."""
    try:
        compiled = compiled_anew(model, backend=backend)
        directory = recorded(lambda: compiled(*inputs), folder, "breaks")
        report = Run.open(directory).compilation
    except Exception as error:
        return _without_recording(model, inputs, told(error))
    finally:
        torch._dynamo.reset()
    return [] if report is None else _lines(report)


def _lines(report: CompilationReport) -> list[str]:
    if not report.breaks and not report.skips:
        return []
    n = len(report.breaks) + len(report.skips)
    lines = [f"The model has {n} graph break{'' if n == 1 else 's'}:"]
    for skip in report.skips:
        line_text = "" if skip.place is None else f"{skip.place.file}:{skip.place.line}: "
        code = "" if skip.place is None else skip.place.code
        lines += [
            f"  {line_text}{ended(skip.event.reason)} {skip.change}", *_code(code),
            f"    The whole of {skip.event.function or 'this function'} runs eager.",
        ]  # fmt: skip
    for graph_break in report.breaks:
        lines += [
            f"  {break_line(graph_break)}",
            *_code(graph_break.place.code),
            _cost(graph_break),
        ]
    return lines


def _code(text: str) -> list[str]:
    return [f"    > {text.strip()}"] if text.strip() else []


def _cost(graph_break: BreakReport) -> str:
    if graph_break.cost_ns is None:
        return "    What it costs cannot be told from a short recording."
    return f"    It costs about {format_duration(graph_break.cost_ns)} per step here."


def _without_recording(model: Any, inputs: Sequence[Any], why: str) -> list[str]:
    """The breaks as Dynamo explains them, where the model could not be recorded compiled."""
    try:
        explained = torch._dynamo.explain(compiled_anew(model, backend="eager"))(*inputs)
    except Exception:
        return []
    lines = []
    for reason in explained.break_reasons:
        if reason.graph_break:
            frame = reason.user_stack[-1] if reason.user_stack else None
            line_text = "" if frame is None else f"{frame.filename}:{frame.lineno}: "
            lines.append(f"  {line_text}{_first_lines(reason.reason)}")
    head = f"The model has {len(lines)} graph breaks; what they cost could not be recorded ({why}):"
    return [head, *lines] if lines else []


def _first_lines(message: object) -> str:
    return "\n    ".join(str(message).strip().splitlines()[:8])
