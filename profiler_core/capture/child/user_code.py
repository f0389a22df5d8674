"""The user's own `path/to/file.py:function` -> model and inputs, or a step callable.

The function may take any of the keyword arguments batch_size, shape, training, seed, device,
compile, and whatever `--option` names; it returns (model, example_inputs), (model, example_inputs,
loss) with loss(output), a training loop or decoding (`protocols`), or a callable that makes one
whole step, alone or as (step, model).
"""

from __future__ import annotations

import inspect
from math import gcd
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping

from . import project, protocols
from .failures import CannotRunError
from .workloads import Built, Inputs, Request, label_of

_RETURNS = (
    "Return (model, example_inputs), (model, example_inputs, loss), an object with the names of "
    "Training or Decode, a step callable, or (step, model)."
)


def split(workload: str) -> List[str]:
    """`path/to/file.py:function` -> absolute path and function name."""
    path, _, name = workload.rpartition(":") if ".py:" in workload else (workload, "", "")
    if not name:
        raise CannotRunError(
            "{} names no function.".format(workload), "Write it like {}:function.".format(path)
        )
    return [str(Path(path).absolute()), name]


def build(request: Request, compile_function: Callable[..., Any]) -> Built:
    """Import the file and call the function, once for each shape of the cycle."""
    path, name = split(request.workload)
    function = _load(path, name)
    if not request.shapes:
        return _built(function, request, {}, compile_function)
    parts = [
        _built(function, request, {"shape": shape}, compile_function) for shape in request.shapes
    ]
    if any(part.step is not None or part.loop is not None for part in parts):
        raise CannotRunError(
            "{} returns a step or a loop, which brings its own inputs.".format(name),
            "Leave --shapes out, or return (model, example_inputs).",
        )
    return parts[0]._replace(
        inputs=[part.inputs[0] for part in parts], labels=[part.labels[0] for part in parts]
    )


def _load(path: str, name: str) -> Callable[..., Any]:
    if not Path(path).is_file():
        raise CannotRunError("{} does not exist.".format(path), "Pass an existing Python file.")
    module = project.load(path)
    function = getattr(module, name, None)
    if not callable(function):
        functions = [
            key
            for key, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__
        ]
        raise CannotRunError(
            "{} has no function '{}'.".format(path, name),
            "Use one of its functions: {}.".format(", ".join(functions) or "it has none"),
        )
    return function  # type: ignore[no-any-return]


def _built(
    function: Callable[..., Any],
    request: Request,
    shape_argument: Dict[str, Any],
    compile_function: Callable[..., Any],
) -> Built:
    offered: Dict[str, Any] = {
        "training": request.training, "seed": request.seed, "device": request.device,
        **shape_argument,
    }  # fmt: skip
    if request.batch_size is not None:
        offered["batch_size"] = request.batch_size
    arguments = _accepted(function, offered, request.options, required=list(shape_argument))
    # Only where it is named: **kwargs may go to a model, which knows no such argument.
    compiles_itself = (
        "compile" in inspect.signature(function).parameters and "compile" not in arguments
    )
    if compiles_itself:
        arguments["compile"] = compile_function
    built = _understood(function(**arguments), request)
    return built._replace(compiles_itself=compiles_itself)


def _understood(returned: Any, request: Request) -> Built:
    training = protocols.training_of(returned)
    if training is not None:
        return _training(training)
    decode = protocols.decode_of(returned)
    if decode is not None:
        inputs = _as_inputs(decode.inputs)
        label = label_of([*inputs[0], *inputs[1].values()])
        return Built(decode.model, [inputs], [label], loop=decode)
    if isinstance(returned, tuple) and len(returned) in (2, 3) and callable(returned[0]):
        if len(returned) == 2 and hasattr(returned[1], "named_parameters"):
            return Built(returned[1], [((), {})], [""], step=returned[0])
        inputs = _as_inputs(returned[1])
        label = label_of([*inputs[0], *inputs[1].values()])
        return Built(returned[0], [inputs], [label], _as_loss(returned))
    if callable(returned) and not hasattr(returned, "parameters"):
        return Built(None, [((), {})], [""], None, returned)
    raise CannotRunError(
        "The function {} returned {}, not a model with inputs.".format(
            request.workload.rpartition(":")[2], _kind(returned)
        ),
        _RETURNS,
    )


def _training(training: protocols.Training) -> Built:
    """The loop with its batches, or with the first one where they are fetched step by step."""
    batches = training.batches
    if not isinstance(batches, (list, tuple)):
        batches = [next(protocols.iterator_of(batches))]
    sizes = [_label_of_batch(batch) for batch in batches]
    n_cycle = len(batches) // gcd(len(batches), training.accumulate)
    # Batches of one shape need no cycle: each step is as long as any other.
    labels = [sizes[i * training.accumulate % len(sizes)] for i in range(n_cycle)]
    return Built(
        training.model,
        [((batch,), {}) for batch in batches],
        labels if len(set(sizes)) > 1 else sizes[:1],
        loop=training._replace(batches=None if batches is training.batches else training.batches),
    )


def _label_of_batch(batch: Any) -> str:
    call = _as_inputs(batch)
    return label_of([*call[0], *call[1].values()])


def _accepted(
    function: Callable[..., Any],
    offered: Dict[str, Any],
    options: Dict[str, str],
    required: List[str],
) -> Dict[str, Any]:
    """The arguments that the function accepts; raises where it lacks one that the user set."""
    parameters = inspect.signature(function).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in [*options, *required, *(["batch_size"] if "batch_size" in offered else [])]:
        if not takes_all and name not in parameters:
            raise CannotRunError(
                "The function {} takes no argument '{}'.".format(function.__name__, name),
                "Add the parameter {}, or leave the option out.".format(name),
            )
    typed = {
        name: _typed(text, parameters[name].default if name in parameters else None)
        for name, text in options.items()
    }
    return {**{k: v for k, v in offered.items() if takes_all or k in parameters}, **typed}


def _typed(text: str, default: Any) -> Any:
    """The text as the type of the parameter's default; without one, a number if it is one."""
    if isinstance(default, bool):
        return text.lower() in ("1", "true", "yes", "on")
    if isinstance(default, str):
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _as_inputs(value: Any) -> Inputs:
    if isinstance(value, Mapping):
        return (), dict(value)
    return (tuple(value) if isinstance(value, (tuple, list)) else (value,)), {}


def _as_loss(returned: Any) -> Any:
    if len(returned) == 2 or returned[2] is None:
        return None
    loss = returned[2]
    if not callable(loss):
        raise CannotRunError(
            "The third returned value is not a function.", "Return loss(output) there."
        )
    return lambda output, _: loss(output)


def _kind(value: Any) -> str:
    if isinstance(value, tuple):
        return "a tuple of {}".format(len(value))
    return "None" if value is None else "a {}".format(type(value).__name__)
