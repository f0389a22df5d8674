"""The text of an error of torch.compile -> its cause, the user's line, torch's hints, a remedy.

Of torch 2.1 to 2.15, from the exception itself (in the child) or from a log. Nothing of torch is
imported: a text is all that there is of an error in a log.
"""

from __future__ import annotations

import re
import sys
from typing import Any, List, NamedTuple, Optional, Tuple

NO_COMPILER = "No working C++ compiler found"  # torch/_inductor/exc.py, 2.1 to 2.15
IN_LOGS = "See the end of torch_logs.txt for the compiler's own words."

_LONGEST = 400
_MOST_HINTS = 5
_FRAME = re.compile(r'\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')
_CARETS = re.compile(r"\s*[~^]+[~^ ]*")
_USER_CODE = re.compile(r"(?m)^[^\S\n]*(?:from user code:|Found from ?:)[^\S\n]*$")
_END = re.compile(
    r"(?m)^[^\S\n]*(?:Set TORCH(?:DYNAMO_VERBOSE|_LOGS)=|You can suppress this exception)"
)
_OF_TORCH = re.compile(r"[/\\](?:site|dist)-packages[/\\](?:torch|torch_\w+|functorch)[/\\]")
# "Dynamo failed to run FX node with fake tensors: call_function …: got RuntimeError('…')", 2.7 on.
_GOT = re.compile(r"got \w+\((?P<quote>['\"])(?P<text>.*)(?P=quote)\)[^\S\n]*$", re.MULTILINE)
# "Failed running call_function f(*(…), **{}):" and the reason on the line below, up to 2.6.
_RUNNING = re.compile(r"Failed running \w+ .*:$")
_EXPLANATION = re.compile(r"(?m)^[^\S\n]*Explanation: (?P<text>.+)$")
_HINT = re.compile(r"(?m)^[^\S\n]*Hint: (?P<text>.+)$")
# Hints that help nobody with this error.
_OF_NO_HELP = (
    "Your code may result in an error when running in eager",
    "Please report an issue to PyTorch",
    "This graph break is fundamental",
    "It may be possible to write Dynamo tracing rules",
)
_NO_FAKE = (
    # A torch.library.custom_op, 2.4 on.
    re.compile(r"no fake impl registered for <CustomOpDef\((?P<op>[\w.:]+)\)>"),
    # One of torch.library.Library; torch's own operators are for torch to register.
    re.compile(r"unsupported operator: (?P<op>(?!aten\.|prims\.)\w+\.\w+)"),
)
_PLEASE = re.compile(r"Please (?:use|see) [^.]*`[^`]+`[^.]*\.")
_TO_ENABLE = re.compile(r"to enable, set (?P<what>torch\._dynamo\.config\.\w+ ?= ?True)")
_IS_BACKEND = ("BackendCompilerFailed", "InductorError", "LoweringException", "CppCompileError")
_UNTRACED = ("Unsupported", "UserError", "UncapturedHigherOrderOpError")


class Diagnosis(NamedTuple):
    """What is known of a failed compilation; None: the text does not say it."""

    error: str  # the class, without its module
    reason: str  # torch's words on the cause, one line
    hints: Tuple[str, ...]  # torch's own
    file: Optional[str]  # the innermost line of the user's code
    line: Optional[int]
    function: Optional[str]
    code: str
    remedy: str  # one sentence or two


def diagnose(name: str, text: str, fullgraph: bool = True) -> Diagnosis:
    """What an error of the compiler says.

    Args:
        name: its class.
        text: its whole message, without the name.
        fullgraph: what cannot be traced is an error; False: it is one for another reason.
    """
    head, _, tail = _split(text)
    reason = _reason(head)
    hints = _hints(head)
    file, line, function, code = _innermost(tail)
    return Diagnosis(
        error=name,
        reason=reason,
        hints=tuple(hints[:_MOST_HINTS]),
        file=file,
        line=line,
        function=function,
        code=code,
        remedy=_remedy(name, head, hints, fullgraph, line is not None),
    )


def definition(text: str) -> Optional[Tuple[str, int]]:
    """File and line of the custom operator without a fake implementation, where torch knows it."""
    operator = _without_fake(text)
    module: Any = sys.modules.get("torch._library.custom_ops")
    if operator is None or module is None:
        return None
    defined = getattr(module, "OPDEFS", {}).get(operator)
    code = getattr(getattr(defined, "_init_fn", None), "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno)


def _split(text: str) -> Tuple[str, str, str]:
    """What is said, the words that introduce the user's stack, and the stack."""
    end = _END.search(text)
    text = text[: end.start()] if end else text
    begin = _USER_CODE.search(text)
    if begin is None:
        return text, "", ""
    return text[: begin.start()], begin.group(), text[begin.end() :]


def _reason(head: str) -> str:
    got = _GOT.search(head)
    if got is not None:
        return _clipped(got["text"])
    lines = [line.strip() for line in head.splitlines() if line.strip()]
    if not lines:
        return ""
    first = lines[0]
    if len(lines) > 1 and _RUNNING.match(first):
        return _clipped(lines[1])
    if len(lines) > 1 and first.endswith(":"):  # "backend='inductor' raised:" and its error
        return _clipped(first + " " + lines[1])
    explanation = _EXPLANATION.search(head)
    if explanation is not None and explanation["text"].strip() != first:
        return _clipped("{}: {}".format(first.rstrip("."), explanation["text"].strip()))
    return _clipped(first)


def _hints(head: str) -> List[str]:
    hints = [match.group().strip() for match in _PLEASE.finditer(head)]
    enable = _TO_ENABLE.search(head)
    if enable is not None:
        hints.append("Set {}.".format(enable["what"]))
    hints += [
        match["text"].strip()
        for match in _HINT.finditer(head)
        if not match["text"].startswith(_OF_NO_HELP)
    ]
    return [_clipped(hint) for hint in dict.fromkeys(hints)]


def _innermost(tail: str) -> Tuple[Optional[str], Optional[int], Optional[str], str]:
    """The innermost frame outside of torch; a custom operator's last frame is in torch itself.

    None where all are torch's, as of a Sequential that the compiler gets whole: no line of theirs
    is the user's to change.
    """
    lines = tail.splitlines()
    frames = []
    for index, text in enumerate(lines):
        match = _FRAME.match(text)
        if match is not None:
            below = lines[index + 1] if index + 1 < len(lines) else ""
            is_code = _FRAME.match(below) is None and _CARETS.fullmatch(below) is None
            frames.append((match, below.strip() if is_code else ""))
    of_user = [frame for frame in frames if _OF_TORCH.search(frame[0]["file"]) is None]
    if not of_user:
        return None, None, None, ""
    match, code = of_user[-1]
    return match["file"], int(match["line"]), match["function"], _clipped(code)


def _remedy(name: str, head: str, hints: List[str], fullgraph: bool, names_line: bool) -> str:
    operator = _without_fake(head)
    if operator is not None:
        short = operator.replace("::", ".").split(".")[-1]
        return (
            "Register a fake implementation of {} beside its definition, which returns an empty "
            "tensor of the right shape: @{}.register_fake, or torch.library.register_fake "
            "(impl_abstract before torch 2.4).".format(operator, short)
        )
    if NO_COMPILER in head:
        return "Install g++, or name a C++ compiler in CXX: Inductor compiles for the CPU with it."
    if hints:
        return "torch's hint: {}".format(hints[0])
    if name in _UNTRACED and fullgraph:
        part = "that line" if names_line else "what fails"
        return "Rewrite {}, or leave fullgraph out: then it is a graph break and no error.".format(
            part
        )
    if name in _IS_BACKEND and "backend='" not in head.replace("backend='inductor'", ""):
        part = "what that line computes" if names_line else "what fails"
        return (
            "Keep {} out of the compiler with torch.compiler.disable, or try another torch. "
            "{}".format(part, IN_LOGS)
        )
    return IN_LOGS


def _without_fake(text: str) -> Optional[str]:
    for pattern in _NO_FAKE:
        match = pattern.search(text)
        if match is not None:
            return match["op"]
    return None


def _clipped(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
