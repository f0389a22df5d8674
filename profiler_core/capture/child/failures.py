"""An exception in the child -> one sentence that names the line, and a remedy."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

from .compile_errors import definition, diagnose

_TORCH_COMPILE_MODULES = ("torch._dynamo", "torch._inductor", "torch._functorch", "torch.fx")
# "busy or unavailable": the device takes one process at a time (exclusive mode), which calls
# for the same answer as a full device: one variant after another.
_MEMORY_WORDS = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "alloc_failed",
    "busy or unavailable",
)
_LONGEST = 400


class CannotRunError(Exception):
    """A failure that the child itself detected, with problem and remedy."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem + " " + remedy)
        self.problem = problem
        self.remedy = remedy


def describe(
    error: BaseException, stage: str, user_file: Optional[str], compiled: bool
) -> Dict[str, Any]:
    """Sort the exception into a kind: stated, memory, compile, user.

    Args:
        error: what was raised.
        stage: what the child was doing, as a phrase: "the first call".
        user_file: the user's own file, whose innermost line is named.
        compiled: the variant goes through a compiler.

    Returns:
        kind, problem, remedy; and where it is of the kind "compile" also compile_failure, with
        the keys of `model.run.CompileDiagnosis`.
    """
    if isinstance(error, CannotRunError):
        return _answer("stated", error.problem, error.remedy)
    chain = list(_chain(error))
    text = _one_line(_message(error)) or type(error).__name__
    place = _position(chain, user_file)
    position = stage + place
    if any(_is_memory(link) for link in chain):
        return _answer(
            "memory",
            "Out of memory in {}: {}".format(position, _sentence(text)),
            "Use a smaller batch size, or free the device.",
        )
    if isinstance(error, SystemExit):
        return _answer(
            "user",
            "The code called exit({}) in {}.".format(error.code, position),
            "Let the function return instead.",
        )
    of_compiler = next((link for link in chain if _from_compiler(link)), None)
    if compiled and of_compiler is not None:
        return _compile_failure(of_compiler, stage, position)
    if isinstance(error, FileNotFoundError) and not Path(str(error.filename or "/")).is_absolute():
        return _answer(
            "user",
            "{} in {}: {}".format(type(error).__name__, position, _sentence(text)),
            "It is looked for in {}; pass --directory where that is wrong.".format(Path.cwd()),
        )
    return _answer(
        "user",
        "{} in {}: {}".format(type(error).__name__, position, _sentence(text)),
        _to_fix(place, user_file),
    )


def _to_fix(place: str, user_file: Optional[str]) -> str:
    if place:
        return "Fix the line, or see the end of torch_logs.txt for the traceback."
    if user_file is None:
        return "See the end of torch_logs.txt for the traceback."
    return (
        "No line of {} raised it: see whether the inputs fit the model, and the traceback at the "
        "end of torch_logs.txt.".format(Path(user_file).name)
    )


def _compile_failure(error: BaseException, stage: str, position: str) -> Dict[str, Any]:
    text = str(error)
    diagnosis = diagnose(type(error).__name__, text)
    if diagnosis.file is not None:
        position = "{} ({}, line {}, in {}{})".format(
            stage,
            Path(diagnosis.file).name,
            diagnosis.line,
            diagnosis.function,
            ": `{}`".format(diagnosis.code) if diagnosis.code else "",
        )
    remedy = diagnosis.remedy
    defined = definition(text)
    if defined is not None:
        name, line = Path(defined[0]).name, defined[1]
        remedy = "{} It is defined at {}, line {}.".format(remedy, name, line)
    problem = "torch.compile failed in {}: {}: {}".format(
        position, diagnosis.error, _sentence(diagnosis.reason)
    )
    keys = dict(
        diagnosis._asdict(),
        remedy=remedy,
        defined_in_file=defined[0] if defined is not None else None,
        defined_in_line=defined[1] if defined is not None else None,
    )
    return dict(_answer("compile", problem, remedy), compile_failure=keys)


def _answer(kind: str, problem: str, remedy: str) -> Dict[str, Any]:
    return {"kind": kind, "problem": problem, "remedy": remedy}


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen_ids: List[int] = []
    link: Optional[BaseException] = error
    while link is not None and id(link) not in seen_ids:
        seen_ids.append(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _is_memory(error: BaseException) -> bool:
    # torch.cuda.OutOfMemoryError up to 2.4, torch.OutOfMemoryError later: told by name.
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(
        phrase in str(error).lower() for phrase in _MEMORY_WORDS
    )


def _from_compiler(error: BaseException) -> bool:
    return type(error).__module__.startswith(_TORCH_COMPILE_MODULES)


def _message(error: BaseException) -> str:
    """Its text; of a SyntaxError without file and line, which `_position` says."""
    return error.msg if isinstance(error, SyntaxError) and error.filename else str(error)


def _position(chain: List[BaseException], user_file: Optional[str]) -> str:
    """The innermost line in the user's file, else in a file beside it; "" where neither is met."""
    if isinstance(chain[0], SyntaxError) and chain[0].filename:
        return " ({}, line {})".format(Path(chain[0].filename).name, chain[0].lineno)
    if user_file is None:
        return ""
    user_path = Path(user_file).absolute()
    frames = [f for link in chain for f in reversed(traceback.extract_tb(link.__traceback__))]
    own = [f for f in frames if f.filename == str(user_path)]
    for frame in own or [f for f in frames if _is_beside(Path(f.filename), user_path.parent)]:
        return " ({}, line {}, in {})".format(Path(frame.filename).name, frame.lineno, frame.name)
    return ""


def _is_beside(path: Path, folder: Path) -> bool:
    """Is it the user's own code too: below the folder of the file, and of no installed package?"""
    torch = sys.modules.get("torch")
    foreign = [Path(__file__).parent, Path(traceback.__file__).parent]
    if torch is not None and torch.__file__ is not None:  # it may be a checkout of one's own
        foreign.append(Path(torch.__file__).parent)
    return (
        folder in path.parents
        and not {"site-packages", "dist-packages"} & set(path.parts)
        and not any(each in path.parents for each in foreign)
    )


def _one_line(text: str) -> str:
    """The first line that is not empty, with the next one where it ends with a colon.

    Dynamo writes "backend='x' raised:" and the compiler's own error on the line below.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith(":"):
        lines[0] = lines[0] + " " + lines[1]
    return lines[0][:_LONGEST] if lines else ""


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."
