"""The path of the nn.Module whose `forward` was compiled as a frame of its own.

After a graph break Dynamo compiles the calls that follow one by one: the decoder of a model is a
graph whose `self` is the decoder. The stack above the frame, which the log has, says by which
members it was called from the model on.
"""

import re
from itertools import pairwise
from typing import Any

# `decoder_outputs = self.decoder(`: a line may go on, so its end is not looked at.
_MEMBER = re.compile(r"^(?:[\w, ]+ = |return )?self\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\(")
_MODULE_CALL = ("_wrapped_call_impl", "_call_impl")
# They call the module that they wrap, which keeps its path.
_WRAPPERS = frozenset(("compile_wrapper", "_fn", "inner", "_run_ddp_forward", *_MODULE_CALL))
_FUNCTION_CALL = "apply"  # of a torch.autograd.Function, whose forward is no module's


def frame_module(stack: Any) -> str:
    """`decoder.block` out of the stack of a `dynamo_start`, the outermost call first.

    "" for the first module that is called, which is the model; and where a caller's line does not
    say which member it calls, such as that of a loop over layers.
    """
    members = _members(stack)
    return ".".join(member[1] for member in members if member) if all(members) else ""


def is_unnamed_part(stack: Any) -> bool:
    """Is the frame of a module that another one calls by a line that names no member?

    All modules of its class that such lines call enter the one frame, and its code says of which
    of them a call is no more than the log does.
    """
    return not all(_members(stack))


def _members(stack: Any) -> list[re.Match[str] | None]:
    """What each line below the model's own call says of the module that it calls."""
    frames = (
        [frame for frame in stack if isinstance(frame, dict)] if isinstance(stack, list) else []
    )
    callers = [
        str(frame.get("loc") or "")
        for frame, callee in pairwise(frames)
        if frame.get("name") not in _WRAPPERS and _is_module_call(frame, callee, frames[-1])
    ]
    return [_MEMBER.match(line.strip()) for line in callers[1:]]


def _is_module_call(frame: dict[str, Any], callee: dict[str, Any], last: dict[str, Any]) -> bool:
    """Does the frame call a module? Above the last one torch 2.14 may leave its own frames out.

    A decorator, which hands on `*args`, and a function of autograd call a `forward`, too.
    """
    if callee.get("name") == _MODULE_CALL[0]:
        return True
    is_forward = callee is last and callee.get("name") == "forward"
    is_decorator = "*args" in str(frame.get("loc") or "")
    return is_forward and not is_decorator and frame.get("name") != _FUNCTION_CALL
