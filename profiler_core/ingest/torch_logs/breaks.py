"""The text of one graph-break record -> what broke, where; every wording from 2.1 to 2.15.

The same text is the payload of the structured log's `dynamo_graph_break_reason`.

2.1, 2.2   Graph break: REASON from user code at:            then the user's frames
2.3 … 2.5  Graph break: from user code at:                   frames, internal traceback with REASON
2.6        Graph break in user code at FILE:LINE / Reason: Unsupported: REASON
2.7 …      … / Graph Break Reason: TITLE / Explanation, Hints, context, link, frames
2.10 …     the title follows below a generic first line
2.4 … 2.9  Graph break: skip: from user code at:             the whole frame runs eager
2.10 …     torch.compile will skip tracing the frame NAME (FILE line N)
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from profiler_core.model.compilation import Frame

PLACE = re.compile(
    r"Graph break (?:\((?P<repeat>[^)]*)\) )?in user code at (?P<file>.*):(?P<line>\d{1,18})\s*$"
)
SUPPRESSED = re.compile(
    r"Unsupported break in user code at (?P<file>.*):(?P<line>\d{1,18}) \(details suppressed\)"
)
FRAME = re.compile(
    r'\s*File "(?P<file>[^"\n]*)", line (?P<line>\d{1,18}), in (?P<function>\S(?:.*\S)?)\s*$'
)
SKIPPED_FRAME = re.compile(
    r"(?:frame skipped: |skip tracing the frame )(?P<name>\S{1,400}) "
    r"\((?:.{0,400}?) line (?P<line>\d{1,18})\)"
)
GB_LINK = re.compile(r"/gb/gb(\d{4,5})")
ERROR = re.compile(r"(?:torch\._dynamo\.exc\.)(?P<error>\w+): (?P<reason>.*)")
CARETS = re.compile(r"[\s~^]+$")
RESUME = re.compile(r"(?:torch_dynamo_resume_in_|resume_in_)(?P<name>.+?)(?:_at_\d+(?:_\d+)?)?$")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}|\b\d{10,}\b")

# Wordings that say how Dynamo came to the break, not what broke; the title follows them.
GENERIC = ("Encountered graph break when attempting to ", "Failed to handle graph break gracefully")
GAVE_UP = (
    "Failed to handle graph break gracefully",
    "Graph break: skip:",
    "Graph break: torch.compile cannot",
)
ANOTHER = "*** While handling this graph break"


@dataclass(frozen=True)
class ParsedBreak:
    """One record: a break, or (`skipped`) a frame given up. Place None: the record has none."""

    file: str | None
    line: int | None
    function: str
    reason: str
    explanation: str
    hints: tuple[str, ...]
    context: str
    gb_id: str | None
    stack: tuple[Frame, ...]
    skipped: bool
    skipped_function: str | None = None
    skipped_line: int | None = None


def original_function(name: str) -> str:
    """`torch_dynamo_resume_in_f_at_34` (2.2: `resume_in_f`, 2.1: `<resume in f>`) -> `f`."""
    while match := RESUME.match(name):
        name = match["name"]
    return (
        name.removeprefix("<resume in ").removesuffix(">")
        if name.startswith("<resume in ")
        else name
    )


def is_rest(name: str) -> bool:
    """Is it what follows a graph break in a function, which Dynamo compiles as one of its own?"""
    return original_function(name) != name


def one_line(reason: str) -> str:
    """Normalise a reason for grouping: one line, no addresses, no quotes around the whole."""
    text = ADDRESS.sub("…", " ".join(reason.split()))
    return text.removeprefix("Unsupported: ").strip()


def parse_break(lines: Sequence[str]) -> ParsedBreak | None:
    """Read one record; None where its first line promises a break and no place follows."""
    if not lines:
        return None
    match = PLACE.match(lines[0])
    return _new_wording(lines, match) if match else _old_wording(lines)


def parse_suppressed(first: str) -> tuple[str, int] | None:
    """The place of a repeat that 2.3 to 2.5 mention with +dynamo only."""
    match = SUPPRESSED.match(first)
    return (match["file"], int(match["line"])) if match else None


def frames(lines: Sequence[str]) -> tuple[Frame, ...]:
    """The Python frames in `lines`, with their source line where it is printed."""
    stack: list[Frame] = []
    for index, text in enumerate(lines):
        match = FRAME.match(text)
        if match:
            following = lines[index + 1] if index + 1 < len(lines) else ""
            code = (
                "" if FRAME.match(following) or CARETS.fullmatch(following) else following.strip()
            )
            stack.append(Frame(match["file"], int(match["line"]), match["function"], code))
    return tuple(stack)


def _new_wording(lines: Sequence[str], match: re.Match[str]) -> ParsedBreak:
    """2.6 and later: the place stands in the first line."""
    head, stack_lines = _split_stack(lines[1:])
    stack = frames(stack_lines)
    body = [re.sub(r"^(?:Graph Break Reason|Reason): ?", "", text) for text in head]
    first_break = body
    for index, text in enumerate(body):
        if text.startswith(ANOTHER):
            first_break = body[:index]
            break
    title = next((t for t in first_break if t.strip() and not t.startswith(GENERIC)), "")
    everything = "\n".join(body)
    skipped = SKIPPED_FRAME.search(everything)
    file, line = match["file"], int(match["line"])
    return ParsedBreak(
        file=file,
        line=line,
        function=_function_at(stack, file, line),
        reason=one_line(title),
        skipped=bool(skipped) or any(text.startswith(GAVE_UP) for text in body[:2]),
        skipped_function=skipped["name"] if skipped else None,
        skipped_line=int(skipped["line"]) if skipped else None,
        stack=stack,
        **_details(first_break)._asdict(),
    )


def _old_wording(lines: Sequence[str]) -> ParsedBreak | None:
    """2.1 to 2.5, and the frame skips of 2.4 and later: the place is the last user frame."""
    text = "\n".join(lines)
    end = text.find("\nTraceback (most recent call last):")
    user, internal = (text, "") if end < 0 else (text[:end], text[end:])
    errors = list(ERROR.finditer(internal))
    inline = re.match(r"Graph break: (?P<reason>.*?) ?from user code at:", user, re.DOTALL)
    reason = inline["reason"] if inline else ""
    skipped = lines[0].startswith(GAVE_UP)
    if reason in ("", "skip:"):
        reason = errors[-1]["reason"] if errors else ""
    stack = frames(user.split("\n"))
    frame = SKIPPED_FRAME.search(user)
    if not stack and not frame:
        return None
    last = stack[-1] if stack else None
    return ParsedBreak(
        file=last.file if last else None,
        line=last.line if last else None,
        function=original_function(last.function) if last else "",
        reason=one_line(reason),
        skipped=skipped,
        skipped_function=frame["name"] if frame else None,
        skipped_line=int(frame["line"]) if frame else None,
        stack=stack,
        **_details(internal[errors[-1].start() :].split("\n") if errors else [])._asdict(),
    )


class _Details(NamedTuple):
    """What Dynamo writes below the title."""

    explanation: str
    hints: tuple[str, ...]
    context: str
    gb_id: str | None


def _details(lines: Sequence[str]) -> _Details:
    """Explanation, hints, context and link. A hint may run over several unindented lines."""
    parts: dict[str, list[str]] = {"Explanation": [], "Hint": [], "Developer debug context": []}
    current: list[str] | None = None
    gb_id = None
    for text in lines:
        label, colon, rest = text.strip().partition(": ")
        link = GB_LINK.search(text)
        if link:
            gb_id = gb_id or f"GB{link[1]}"
            current = None
        elif colon and label in parts and text.startswith("  "):
            current = parts[label]
            current.append(rest)
        elif text.startswith(("Stack variable source", "Traceback (most recent", "from user code")):
            break
        elif current is not None and text.strip():
            current[-1] += " " + text.strip()
        elif not text.strip() and current is parts["Hint"]:
            current = None
    return _Details(
        explanation=" ".join(parts["Explanation"]),
        hints=tuple(parts["Hint"]),
        context=ADDRESS.sub("…", " ".join(parts["Developer debug context"])),
        gb_id=gb_id,
    )


def _split_stack(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before `User code traceback:`, and its frames up to any internal traceback."""
    head: list[str] = []
    for index, text in enumerate(lines):
        if text.startswith("Traceback (most recent call last):"):
            break
        if text.startswith("User code traceback:"):
            stack = list(lines[index + 1 :])
            for end, following in enumerate(stack):
                if following.startswith(
                    ("Traceback (most recent", "Most recent bytecode", "NOTE: ")
                ):
                    return head, stack[:end]
            return head, stack
        head.append(text)
    return head, []


def _function_at(stack: Sequence[Frame], file: str, line: int) -> str:
    for frame in reversed(stack):
        if frame.line == line and (frame.file == file or not file):
            return original_function(frame.function)
    return original_function(stack[-1].function) if stack else ""
