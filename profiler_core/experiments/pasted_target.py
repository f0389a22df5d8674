"""What of a script is compiled, as code: what `capture/child` compiles of it."""

import re
from collections.abc import Sequence

from profiler_core.capture.compile_target import TARGETS
from profiler_core.capture.variant_spec import VariantSpec
from profiler_core.model.run import Compiled

_PLAIN = re.compile(r"[\w.]+")  # the path of a module
_LONGEST = 88  # characters of a line

# What a step calls (`Compiled.calls`) -> the callable, what it is called with, and what it answers.
_CALLS = {
    "model": ("model", "*inputs", "output"),
    "step": ("step", "", ""),
    "training_step": ("training_step", "batch", "loss"),
    "decode step": ("step", "*inputs", "output"),
    "generate": ("generate", "*inputs", "output"),
    "model.generate": ("model.generate", "*inputs", "output"),
}
WITH_INPUTS = tuple(name for name, (_, inputs, _) in _CALLS.items() if inputs == "*inputs")


def supposed(variant: VariantSpec) -> Compiled:
    """What the words of a target say, where nobody kept what was compiled."""
    stated = [word for word in variant.target if word in ("whole", "loss", "step", "as-is")]
    patterns = [word for word in variant.target if word not in TARGETS or word == "blocks"]
    where = stated[-1] if stated else "modules" if patterns else "whole"
    return Compiled(where=where, calls="step" if where == "step" else "model")


def called(compiled: Compiled) -> str:
    """One step, or the forward and the loss of it."""
    name, inputs, answer = _call(compiled)
    if compiled.where == "loss" and compiled.calls == "model":
        name, answer = "loss_of", "loss"
    return f"{answer} = {name}({inputs})" if answer else f"{name}({inputs})"


def compile_lines(variant: VariantSpec, compiled: Compiled, function: str) -> list[str]:
    """What compiles it.

    Args:
        variant: with its target.
        compiled: what was compiled.
        function: the workload's, where it has one.
    """
    arguments = arguments_of(variant)
    lines = _lines(variant, compiled, arguments, function)
    if "optimizer" in variant.target:
        lines += _compiled_call("optimizer.step", arguments)
    return lines


def _lines(
    variant: VariantSpec, compiled: Compiled, arguments: list[str], function: str
) -> list[str]:
    name, _, _ = _call(compiled)
    match compiled.where:
        case "as-is":
            return _as_it_compiles_itself(compiled, arguments, function)
        case "loss" if name == "model":
            return _loss(arguments)
        case "loss" | "step":
            return [f"# {TARGETS[compiled.where]}", *_compiled_call(name, arguments)]
        case "modules":
            return _modules(variant, compiled.modules, arguments)
        case _ if compiled.calls == "model":
            return _compiled_call("model", arguments)
        case _:  # what calls the model goes on calling it where it stands
            return [f"model.compile({', '.join(arguments)})"]


def _call(compiled: Compiled) -> tuple[str, str, str]:
    return _CALLS.get(compiled.calls, _CALLS["model"])


def _compiled_call(name: str, arguments: list[str]) -> list[str]:
    """`name = torch.compile(name, …)`, in one line where it fits."""
    line = f"{name} = torch.compile({', '.join([name, *arguments])})"
    if len(line) <= _LONGEST:
        return [line]
    return [f"{name} = torch.compile(", *(f"    {each}," for each in (name, *arguments)), ")"]


def _loss(arguments: list[str]) -> list[str]:
    head = f"@torch.compile({', '.join(arguments)})" if arguments else "@torch.compile"
    return [
        "",
        f"# {TARGETS['loss']}; criterion is your loss of the model's output",
        head,
        "def loss_of(*inputs):",
        "    return criterion(model(*inputs))",
        "",
    ]


def _as_it_compiles_itself(compiled: Compiled, arguments: list[str], function: str) -> list[str]:
    if compiled.is_handed:
        name = function if function.isidentifier() else "build"
        return [
            "from functools import partial",
            "",
            f"# your function compiles by its argument: {name}(compile=compile_as_tried)",
            f"compile_as_tried = {', '.join(['partial(torch.compile', *arguments])})",
        ]
    lines = [f"# compiled is {TARGETS['as-is']}"]
    if arguments:
        lines.append(f"# its own calls of torch.compile are not given {', '.join(arguments)}")
    return lines


def _modules(variant: VariantSpec, compiled: Sequence[str], arguments: list[str]) -> list[str]:
    whole = ", ".join(arguments)
    if compiled:
        return [*each_of(compiled), f"    model.get_submodule(path).compile({whole})"]
    if "blocks" in variant.target:
        head = "for block in model.layers:  # the model's list of repeated blocks"
        return [head, f"    block.compile({whole})"]
    patterns = [word for word in variant.target if word not in TARGETS]
    return [*_each_matching(patterns), f"        module.compile({whole})"]


def each_of(paths: Sequence[str]) -> list[str]:
    """The head of a loop over modules; those that stand one after another in a list as its range.

    `h.0`, `h.1` and `h.2` are `(f"h.{n}" for n in range(3))`. Whose model it was also chose the
    names: within that text one could be code.
    """
    heads = {path.rpartition(".")[0] for path in paths}
    (head,) = heads if len(heads) == 1 else ("",)
    if _PLAIN.fullmatch(head) and list(paths) == [f"{head}.{n}" for n in range(len(paths))]:
        return [f'for path in (f"{head}.{{n}}" for n in range({len(paths)})):']
    return ["for path in (", *(f"    {path!r}," for path in paths), "):"]


def _each_matching(patterns: Sequence[str]) -> list[str]:
    """The head of a loop over modules by patterns of their paths, which `get_submodule` takes not.

    A star is one part of a path, or some of it, as `capture/child/targets.py` has it.
    """
    return [
        "from fnmatch import fnmatchcase",
        "",
        "patterns = (",
        *(f"    {pattern!r}," for pattern in patterns),
        ")",
        "for path, module in model.named_modules():",
        '    if any(path.count(".") == p.count(".") and fnmatchcase(path, p) for p in patterns):',
    ]


def arguments_of(variant: VariantSpec) -> list[str]:
    """As `capture/child/variants.py` gives them to torch.compile: a mode beside options is one."""
    arguments: list[str] = []
    if variant.dynamic is not None:
        arguments.append(f"dynamic={variant.dynamic}")
    if variant.fullgraph:
        arguments.append("fullgraph=True")
    options = variant.to_dict()["backend_options"]
    written = ", ".join(f'"{key}": {value!r}' for key, value in options.items())
    if options and variant.mode != "default":
        arguments.append(f'options={{**list_mode_options("{variant.mode}"), {written}}}')
    elif options:
        arguments.append(f"options={{{written}}}")
    elif variant.mode != "default":
        arguments.append(f'mode="{variant.mode}"')
    return arguments
