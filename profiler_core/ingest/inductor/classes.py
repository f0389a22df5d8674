"""Which class each nn.Module of a compiled frame is of, by the guards that Dynamo put on them.

The graphs name modules by their paths alone. Guards check types:
`L['self']._modules['encoder']._modules['layer']._modules['0'], 1291368272), type=<class
'transformers.models.bert.modeling_bert.BertLayer'>` (torch 2.5 to 2.15). Guards of plain attributes
and of what is no module are left out.
"""

import re
from collections.abc import Iterable

_GUARD = re.compile(
    r"L\['(\w+)'\]((?:\._modules\['[^'\]]+'\])*)(?:, \d+\))?, type=<class '([\w.]+\.\w+)'>"
)
_NAME = re.compile(r"\['([^'\]]+)'\]")
# They wrap the model, and graphs name its modules without them.
_WRAPPERS = ("OptimizedModule", "DistributedDataParallel", "FullyShardedDataParallel")


def guarded_classes(guards: str, module: str = "") -> dict[str, set[str]]:
    """Path -> names of classes: "encoder.layer.0" -> {"BertLayer"}; "" is the model itself.

    Args:
        guards: the payload of a `dynamo_cpp_guards_str`.
        module: path of the module whose `forward` is the frame; "" for the model.
    """
    classes: dict[str, set[str]] = {}
    for local, members, class_path in _GUARD.findall(guards):
        if not members and f"L['{local}']._modules" not in guards:
            continue  # an argument, and no module
        path = ".".join(filter(None, (module, *_NAME.findall(members))))
        name = class_path.rpartition(".")[2]
        if name not in _WRAPPERS:
            classes.setdefault(path, set()).add(name)
    return classes


def agreed(guarded: Iterable[dict[str, set[str]]]) -> tuple[tuple[str, str], ...]:
    """(path, class) where all frames mean one class: `self` of two frames may be two modules."""
    every: dict[str, set[str]] = {}
    for classes in guarded:
        for path, names in classes.items():
            every.setdefault(path, set()).update(names)
    return tuple((path, min(names)) for path, names in every.items() if len(names) == 1)
