"""Measures a model: `capture` its variants, `try_` settings on it."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fusionscope.opening import compare_all
from fusionscope.results import Comparison
from profiler_core import home
from profiler_core.capture.launcher import ask_first, run_capture
from profiler_core.capture.option import Declared, declared
from profiler_core.capture.spec import CaptureSpec
from profiler_core.cli.capture_progress import Printer
from profiler_core.errors import BadInput, CaptureFailed

_OF_OTHERS = ("workload", "sweep")  # named by `model`; made by the command `capture --sweep`


def capture(
    model: Any,
    inputs: Any = (),
    *,
    variants: str | Sequence[str] = "eager,default",
    loss: Callable[[Any], Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    **options: Any,
) -> Comparison:
    """Run variants of a model in turns, each in a process of its own, and compare them.

    The model in this process is left as it is: its source, weights and inputs are handed to
    processes of this interpreter, which measure, profile and check it.

    Args:
        model: an nn.Module; a function; or text, as `fusionscope capture` takes it: a built-in
            workload, or "path/to/file.py:build". A class or function may be defined in a cell of a
            notebook. A function without inputs makes one whole step, as it stands; others run
            without gradients.
        inputs: a tensor, a tuple of all arguments, or a dict of them by name, as one call has them.
        variants: the first is the baseline: "eager,default,reduce-overhead", or a list of such
            words; docs/capture.md lists them.
        loss: of the model's output, a scalar. With it a step is forward, loss, backward and
            optimizer.
        out: where the capture's folder is made; the library of `fusionscope open` without it.
        progress: tell on stderr what is done.
        options: of `fusionscope capture`, with underscores: device="cuda:0", rounds=20,
            training=True, compile_target="blocks", stacks=True, …; docs/capture.md lists them. The
            device is that of the model's parameters, or of the inputs.

    Returns:
        The comparison of the runs, which stay in their folder; a variant that failed is one of
        them, and says why.

    Raises:
        FusionscopeError: the model cannot be handed over, an option makes no sense, or no variant
            could be measured.
    """
    if "sweep" in options:
        raise BadInput(
            "A sweep is several captures.",
            remedy="Call capture for each value, or use the command.",
        )
    show = Printer(sys.stderr, is_quiet=not progress).show
    with workload_of(model, inputs, loss) as given:
        spec = spec_from({**given, **options, "variants": variants})
        interpreters = ask_first(spec, show, lambda: False)
        folder = home.runs_directory() if out is None else Path(out)
        finished = run_capture(spec, folder, listener=show, interpreters=interpreters)
    if all(run.status != "finished" for run in finished.runs):
        raise CaptureFailed(
            f"No variant could be measured ({finished.directory}): {finished.runs[0].error}",
            remedy="See the log in the run's folder.",
        )
    return compare_all([run.directory for run in finished.runs])


@contextmanager
def workload_of(
    model: Any, inputs: Any, loss: Callable[[Any], Any] | None
) -> Iterator[dict[str, Any]]:
    """The options of a capture that name what is run, for as long as its file is there."""
    if isinstance(model, str | os.PathLike):
        if not isinstance(inputs, tuple) or inputs or loss is not None:
            raise BadInput(
                f"Inputs or a loss are given beside the workload {os.fspath(model)}.",
                remedy="Leave them out: the workload brings its own.",
            )
        yield {"workload": os.fspath(model)}
        return
    if not callable(model):
        raise BadInput(
            f"A model is callable, and this is a {type(model).__name__}.",
            remedy="Pass an nn.Module, a function, or the name of a workload.",
        )
    try:
        from fusionscope.handing import workload
    except ImportError as error:  # of torch
        raise BadInput(
            f"torch cannot be imported here: {error}.",
            remedy="Install torch in this environment, or pass the name of a workload and python=.",
        ) from error
    model = workload.uncompiled(model)
    with tempfile.TemporaryDirectory(prefix="fusionscope-handed-") as folder:
        text = workload.write_workload(Path(folder), model, inputs, loss)
        device = workload.device_of(model, inputs)
        yield {
            "workload": text,
            "name": workload.title_of(model),
            "directory": str(Path.cwd()),
            **({} if device is None else {"device": device}),
            **({} if loss is None else {"training": True}),
        }


def spec_from(given: dict[str, Any]) -> CaptureSpec:
    """The capture that these options ask for; each value as typed, or as Python has it.

    Raises:
        BadInput: an option is unknown, or has a value that it cannot have.
    """
    entries = declared(CaptureSpec)
    values = {}
    for name, value in given.items():
        if name not in entries:
            own_keys = [key for key in entries if key not in _OF_OTHERS]
            raise BadInput(
                f"There is no option {name} of a capture.",
                remedy=f"Use some of {', '.join(own_keys)}.",
            )
        values[name] = entries[name].value(_as_typed(entries[name], value))
    return CaptureSpec(**values)


def _as_typed(entry: Declared, value: Any) -> Any:
    """A list as its words, a dict of arguments as lines of `key=value`; others as they are."""
    if isinstance(value, dict):
        value = [f"{key}={text}" for key, text in value.items()]
    if not isinstance(value, list | tuple):
        return value
    texts = ["x".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in value]
    return ("\n" if entry.kind == "texts" else ",").join(texts)
