"""Whether the script's own `torch.compile` is obeyed.

Beside a variant "as-is", which runs as the script compiles it, the other variants leave the
script's own calls out: eager would not be eager otherwise.
"""

from __future__ import annotations

import sys
from typing import Any, Dict

_state: Dict[str, Any] = {"obeyed": True}


def original() -> Any:
    """Torch's own `torch.compile`."""
    import torch

    return _state.get("compile", torch.compile)


def obey(obeyed: bool) -> None:
    """From now on, obey calls of `torch.compile` and `Module.compile` outside of torch, or not."""
    import torch

    _state["obeyed"] = obeyed
    if obeyed or "compile" in _state:
        return
    _state["compile"], module_compile = torch.compile, torch.nn.Module.compile

    def compile_unless_left_out(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        # torch calls it itself, for example to run flex_attention in eager mode.
        caller = str(sys._getframe(1).f_globals.get("__name__", ""))
        if _state["obeyed"] or caller.partition(".")[0] == "torch":
            return _state["compile"](model, *args, **kwargs)
        return identity(model)

    def module_compile_unless_left_out(self: Any, *args: Any, **kwargs: Any) -> None:
        if _state["obeyed"]:
            module_compile(self, *args, **kwargs)

    torch.compile = compile_unless_left_out
    torch.nn.Module.compile = module_compile_unless_left_out


def identity(model: Any = None, **_: Any) -> Any:
    """In place of `torch.compile` in eager mode; a decorator where it gets options only."""
    return model if model is not None else identity
