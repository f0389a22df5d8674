"""What of a model is compiled: all of it, some of its modules, each repeated block, or nothing.

The words are those of `capture/compile_target.py`. Modules are compiled where they stand, as
`torch.nn.Module.compile` does it: the model keeps its structure and the names of its parameters.
"""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatchcase
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from .failures import CannotRunError

Modules = List[Tuple[str, Any]]  # paths and modules
Wrap = Callable[[Any, Any], Any]  # callable and example call -> what runs in its place

WHOLE, BLOCKS, LOSS, OPTIMIZER, STEP, AS_IS = (
    "whole", "blocks", "loss", "optimizer", "step", "as-is",
)  # fmt: skip
_WORDS = (WHOLE, BLOCKS, LOSS, OPTIMIZER, STEP, AS_IS)
_MOST_NAMES = 12  # of modules that an error lists


class Target(NamedTuple):
    """What is compiled.

    where: WHOLE, "modules" (then `modules` has them), LOSS, STEP, or AS_IS: only the script's own.
    """

    where: str
    modules: Modules
    optimizer: bool
    words: Tuple[str, ...]

    def facts(self) -> Dict[str, Any]:
        """`compiled` of run.json: paths and classes of the modules."""
        return {
            "target": list(self.words),
            "where": self.where,
            "modules": [path for path, _ in self.modules],
            "classes": dict(Counter(type(module).__name__ for _, module in self.modules)),
            "optimizer": self.optimizer,
        }


def target_of(
    words: Sequence[str], model: Any, compiles_itself: bool, whole: str, takes: Sequence[str]
) -> Target:
    """Find what the words mean in this model.

    Args:
        words: of a variant; none: what the function compiles itself, else `whole`.
        model: None where the workload shows none.
        compiles_itself: the workload's function takes `compile`.
        whole: what is compiled of such a workload by default, WHOLE or STEP.
        takes: which of LOSS, OPTIMIZER and STEP such a workload has.

    Raises:
        CannotRunError: a target matches nothing, or the workload has no such thing.
    """
    for word in (LOSS, OPTIMIZER, STEP):
        if word in words and word not in takes:
            raise CannotRunError(
                "The compile target '{}' is nothing that this step shows.".format(word),
                "Loss and optimizer are those of training, with --training or Training(model, "
                "batches, …); step is a callable.",
            )
    optimizer = OPTIMIZER in words
    patterns = [word for word in words if word not in _WORDS]
    stated = [word for word in (WHOLE, LOSS, STEP, AS_IS) if word in words]
    if (patterns or stated or optimizer or BLOCKS in words) and not {STEP, AS_IS} & set(stated):
        _check_model(model, words)
    if patterns or BLOCKS in words:
        modules = _matching(model, patterns) if patterns else blocks_of(model)
        return Target("modules", modules, optimizer, tuple(words))
    where = stated[-1] if stated else (AS_IS if compiles_itself else whole)
    return Target(where, [], optimizer, tuple(words))


def compile_where_it_stands(target: Target, model: Any, wrap: Wrap) -> None:
    """Compile the target's modules, or the whole model, for code that calls them by itself."""
    for module in [model] if target.where == WHOLE else [m for _, m in target.modules]:
        compile_in_place(module, wrap)


def compile_in_place(module: Any, wrap: Wrap) -> None:
    """Let its calls run compiled, as `torch.nn.Module.compile` does, in every torch.

    Of torch's own classes too, such as nn.Sequential: up to torch 2.11 `Module.compile` compiles
    nothing of these, since Dynamo skips the files of torch.nn, and no frame of the user's is left.
    `torch.compile(module)` puts a frame around such a call, and so does this.
    """
    if hasattr(module, "_compiled_call_impl"):
        module._compiled_call_impl = wrap(_in_a_frame(module, module._call_impl), None)
    else:
        module.forward = wrap(_in_a_frame(module, module.forward), None)


def _in_a_frame(module: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """The call of a module, in a frame that Dynamo does not skip where it has none."""
    forward = getattr(module.forward, "__func__", module.forward)
    if not str(getattr(forward, "__module__", "")).startswith("torch."):
        return call
    from torch._dynamo.external_utils import wrap_inline

    return wrap_inline(call)  # type: ignore[no-any-return]


def blocks_of(model: Any) -> Modules:
    """The model's repeated blocks: siblings of one class in one of its lists; the outermost ones.

    Where the model names the classes of its blocks itself, as those of diffusers do, these.

    Raises:
        CannotRunError: it has none.
    """
    declared = {
        name
        for module in model.modules()
        for name in (getattr(module, "_repeated_blocks", None) or ())
    }
    named = list(model.named_modules())
    if declared:
        blocks = [(path, m) for path, m in named if type(m).__name__ in declared]
    else:
        blocks = list(_repeated(named))
    if not blocks:
        raise CannotRunError(
            "{} has no repeated blocks: no list in it holds two modules of one class.".format(
                type(model).__name__
            ),
            "Name modules as the compile target: {}.".format(_names(named)),
        )
    return _outermost(blocks)


def _repeated(named: Modules) -> Iterator[Tuple[str, Any]]:
    from torch import nn

    lists = (nn.ModuleList, nn.Sequential, nn.ModuleDict)
    for path, container in named:
        if not isinstance(container, lists):
            continue
        children = list(container.named_children())
        n_of_class = Counter(type(child) for _, child in children)
        for name, child in children:
            # A layer of torch itself, such as each nn.Linear of a Sequential, is no block.
            is_layer = not list(child.children()) and type(child).__module__.startswith("torch.nn.")
            if n_of_class[type(child)] > 1 and not isinstance(child, lists) and not is_layer:
                yield "{}.{}".format(path, name).lstrip("."), child


def _matching(model: Any, patterns: Sequence[str]) -> Modules:
    """The modules whose paths match as a shell has it; `*` is one part of a path, or some of it."""
    named = [(path, module) for path, module in model.named_modules() if path]
    matched: Modules = []
    for pattern in patterns:
        parts = pattern.split(".")
        fitting = [
            (path, module)
            for path, module in named
            if path.count(".") + 1 == len(parts) and all(map(fnmatchcase, path.split("."), parts))
        ]
        if not fitting:
            raise CannotRunError(
                "No module of {} matches the compile target '{}'.".format(
                    type(model).__name__, pattern
                ),
                "Its modules are {}; or use {}.".format(_names(named), ", ".join(_WORDS)),
            )
        matched += fitting
    return _outermost(matched)


def _outermost(modules: Modules) -> Modules:
    """Each once, and none that lies inside another one: that one's graph holds it."""
    paths = {path for path, _ in modules}
    inside = {path for path in paths if any(path.startswith(other + ".") for other in paths)}
    return [(path, module) for path, module in dict(modules).items() if path not in inside]


def _names(named: Modules) -> str:
    """Paths of modules with a star for each number, each once, the shortest first."""
    patterns = dict.fromkeys(re.sub(r"(?<=\.)\d+|^\d+", "*", path) for path, _ in named if path)
    shortest = sorted(patterns, key=lambda pattern: pattern.count("."))
    more = ["…"] if len(shortest) > _MOST_NAMES else []
    return ", ".join(shortest[:_MOST_NAMES] + more) or "none"


def _check_model(model: Any, words: Sequence[str]) -> None:
    if model is None or (set(words) - {WHOLE} and not hasattr(model, "named_modules")):
        raise CannotRunError(
            "The compile target '{}' is looked for in a model, and the function returns a callable "
            "without one.".format(",".join(words)),
            "Return (step, model), Training(model, …) or Decode(model, …).",
        )
