"""What of a model a variant compiles: `--compile-target`, or `+target=…` for one variant."""

import re

from profiler_core.errors import BadInput

# What can be said beside patterns of module paths, and what it means.
TARGETS: dict[str, str] = {
    "whole": "the whole model",
    "blocks": "each repeated block of the model by itself (regional compilation)",
    "loss": "forward and loss as one graph",
    "optimizer": "the optimizer's step too",
    "step": "a step callable as a whole, Python loop, backward and optimizer included",
    "as-is": "nothing but what the script compiles itself",
}

_PATTERN = re.compile(r"[\w*?\[\]!.-]+")
# Of these, one says where the model is compiled.
_ALONE = ("whole", "blocks", "step", "as-is")


def parse_targets(text: str, separator: str = ",") -> tuple[str, ...]:
    """Read `blocks`, `loss,optimizer` or `model.layers.*,lm_head`.

    Raises:
        BadInput: a word is no module path, or two of them contradict each other.
    """
    targets = tuple(dict.fromkeys(part.strip() for part in text.split(separator) if part.strip()))
    for target in targets:
        if not _PATTERN.fullmatch(target):
            raise BadInput(
                f"Compile target '{target}' cannot be read.",
                remedy=f"Use {', '.join(TARGETS)}, or paths of modules such as model.layers.*.",
            )
    patterns = tuple(target for target in targets if target not in TARGETS)
    places = [target for target in targets if target in _ALONE] + list(patterns[:1])
    if len(places) > 1 or (places and "loss" in targets and places != ["whole"]):
        other = places[1] if len(places) > 1 else "loss"
        raise BadInput(
            f"Compile targets '{places[0]}' and '{other}' cannot both be.",
            remedy="Keep one of them, or compare two variants: default+target=…",
        )
    if "optimizer" in targets and places and places[0] in ("step", "as-is"):
        raise BadInput(
            f"Compile target '{places[0]}' leaves no optimizer to compile.",
            remedy="Leave optimizer out.",
        )
    return targets
