"""What a compiled graph is handed: which of its arguments a module owns.

Inductor names an argument by its place, `arg3_1` or `primals_4`; Dynamo names the placeholder there
by where it came from, `L_self_modules_conv1_parameters_weight_` or `L_x_`.
"""

import re

from profiler_core.model.inductor import CompiledGraph

_OF_MODULE = re.compile(r"_(?:parameters|buffers)_")
_ARGUMENT = re.compile(r"^(?:arg(?P<inference>\d{1,18})_1|primals_(?P<training>\d{1,18}))$")


def is_of_module(placeholder: str) -> bool:
    """Is it a parameter or a buffer? These stay from step to step."""
    return _OF_MODULE.search(placeholder) is not None


def place_of_argument(name: str) -> int | None:
    """The place of a graph's argument by its name in the generated code; None: it is none."""
    match = _ARGUMENT.match(name)
    if match is None:
        return None
    return int(match["inference"]) if match["inference"] else int(match["training"]) - 1


def placeholder_of(graph: CompiledGraph, name: str) -> str | None:
    """Dynamo's name of an argument; None: it is none, or the log does not name it."""
    place = place_of_argument(name)
    return (
        graph.placeholders[place] if place is not None and place < len(graph.placeholders) else None
    )
