"""Which interpreters a request may start: the server's own, and those that its owner listed.

A path that somebody typed is never executed on a server for several people: it only chooses among
the owner's, by what they are called in the settings, so neither a link nor `..` leads around them.
"""

from dataclasses import replace

from profiler_core.capture.against import against_of
from profiler_core.capture.python_path import python_at
from profiler_core.capture.spec import CaptureSpec
from profiler_core.door.asker import Asker, Refused
from profiler_core.errors import CaptureFailed
from profiler_core.settings import FILE, settings

_LONGEST = 200  # characters of a text that is repeated
_LONGEST_WORD_BYTES = 100_000  # of one argument; Linux takes 131 071


def may_name_any(asker: Asker) -> bool:
    """Whether this person may pass any path: on their own machine; an agent only without a list."""
    return asker.is_own_machine and not (asker.is_agent and settings().interpreters is not None)


def interpreter_for(text: str | None, asker: Asker) -> str | None:
    """What is started for the text that was asked for; None: the server's own interpreter.

    Args:
        text: a path, the folder of an environment, or a name on the PATH; empty: the server's own.
        asker: who may name any path on the own machine, and elsewhere only what is listed.

    Raises:
        Refused: it is not on the list.
        CaptureFailed: it is, and there is nothing to execute.
    """
    name = (text or "").strip()
    if not name:
        return None
    check_word(name)
    if may_name_any(asker):
        return name
    for listed in settings().interpreters or ():
        if name == listed or name == _executable(listed):
            return python_at(listed)
    raise Refused(
        f"The interpreter {name[:_LONGEST]} may not be started here.",
        remedy=f"Choose one from the list, or ask whoever runs the server to add it to "
        f"interpreters in {FILE}.",
    )


def check_word(text: str) -> None:
    """Can this stand in a command line?

    Raises:
        Refused: it holds a NUL or half a character, or is too long for the system.
    """
    try:
        is_word = "\0" not in text and len(text.encode()) <= _LONGEST_WORD_BYTES
    except UnicodeEncodeError:
        is_word = False
    if not is_word:
        raise Refused(
            f"{text[:_LONGEST]!a} cannot be passed to a command.",
            remedy="Leave out what is no text, and shorten it.",
        )


def _executable(listed: str) -> str | None:
    try:
        return python_at(listed)
    except CaptureFailed:
        return None


def check_workload(spec: CaptureSpec) -> None:
    """Is its workload a name, and no option of the command that is started with it?

    Raises:
        Refused: it is an option, or a word of the spec can stand in no command line.
    """
    for word in spec.to_argv():
        check_word(word)
    if spec.workload.startswith("-"):
        raise Refused(
            f"{spec.workload[:60]} is not a model name.",
            remedy="Name a model, or FILE.py:FUNCTION.",
        )


def with_listed_interpreters(spec: CaptureSpec, asker: Asker) -> CaptureSpec:
    """The spec with the path of each interpreter that it names, those of a sweep included."""
    sweep = spec.sweep
    if sweep is not None and sweep.parameter == "python":
        paths = tuple(str(interpreter_for(value, asker)) for value in sweep.values)
        sweep = replace(sweep, values=paths)
    against = against_of(spec)  # in a folder that anybody named
    if against is not None and against.kind == "python":
        against = replace(against, value=str(interpreter_for(against.value, asker)))
    return replace(
        spec,
        python=interpreter_for(spec.python, asker),
        sweep=sweep,
        # With its kind, so that what was allowed here is what the capture takes.
        against=against.text if against is not None else None,
    )
