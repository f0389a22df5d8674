"""The text of a recompile record, or of a limit warning -> function, place, failed guards.

The first reason belongs to the newest cache entry and is the telling one; one line follows for
each further entry. From 2.11 on a user stack is written inside a reason, each of its lines
looking like a reason itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.model.compilation import GuardFailure

_FUNCTION = r"Recompiling function (?P<function>(?:(?! in ).)+) in "
HEADER = re.compile(_FUNCTION + r"(?P<file>.*):(?P<line>\d{1,18})\s*$")
# 2.1 logs a tuple: ('Recompiling function f in /x/demo.py:4', "triggered by …: REASON")
TUPLE = re.compile(
    r"\(['\"]" + _FUNCTION + r"(?>(?P<file>.*?):(?P<line>\d{1,18})['\"])"
    r"(?:, ['\"](?:triggered by the following guard failure: )?(?P<reason>.*)['\"])?\)\s*$",
    re.DOTALL,
)
ENTRY = re.compile(r"(?P<entry>!?\d+/\d+(?:/\d+)?): ?")
# `# code  # path/to/script.py:40 in by_list`; the path has lost its front.
COMMENT = re.compile(
    r"\s{0,20}# (?:(?P<code>.{0,400}?)\s{0,20}# )?"
    r"(?P<file>[^#\n]{0,400}?):(?P<line>\d{1,9}) in (?P<function>[^\n(]{1,400})"
)
HINT = "(HINT: "
STACK_LINE = re.compile(r"User stack trace:|  File \"|    \S|\s*[~^]+\s*$")
LOCAL = re.compile(r"L\['(\w+)'\]")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}|\b\d{10,}(?:\.\d+)?\b")

LIMIT = re.compile(r"torch\._dynamo hit config\.(?P<limit>\w+) \((?P<value>\d{1,18})\)")
LIMIT_FUNCTION = re.compile(
    r"\s*function: '(?P<function>.*)' \((?P<file>(?:(?!' \().)*):(?P<line>\d{1,18})\)\s*$"
)


@dataclass(frozen=True)
class ParsedRecompile:
    """One report of failed guards; the attempt that hits the limit is reported just like it."""

    function: str
    file: str
    line: int
    reasons: tuple[GuardFailure, ...]


@dataclass(frozen=True)
class ParsedLimit:
    """One limit warning."""

    function: str
    file: str
    line: int
    limit: str
    value: int
    last_reason: str


def parse_recompile(lines: Sequence[str]) -> ParsedRecompile | None:
    """Read one record; None where the function or its place cannot be found."""
    header = HEADER.match(lines[0])
    if header is None:
        match = TUPLE.match("\n".join(lines))
        if match is None:
            return None
        reasons = (parse_guard(match["reason"]),) if match["reason"] else ()
        return ParsedRecompile(match["function"], match["file"], int(match["line"]), reasons)
    return ParsedRecompile(
        header["function"], header["file"], int(header["line"]), tuple(_reasons(lines[1:]))
    )


def parse_limit(lines: Sequence[str]) -> ParsedLimit | None:
    """Read one limit warning; None where it is cut off before the function."""
    limit = LIMIT.match(lines[0])
    function = next((m for text in lines[1:4] if (m := LIMIT_FUNCTION.match(text))), None)
    if limit is None or function is None:
        return None
    reason = next(
        (t.strip() for t in lines if t.strip().startswith(("last reason:", "reasons:"))), ""
    )
    text = reason.partition(":")[2].strip()
    guard = parse_guard(text).guard if text else ""
    return ParsedLimit(
        function["function"],
        function["file"],
        int(function["line"]),
        limit["limit"],
        int(limit["value"]),
        guard,
    )


def parse_guard(text: str) -> GuardFailure:
    """One reason without its bullet -> the guard, normalised, and what is written beside it."""
    first, _, _ = text.partition("\nUser stack trace:")
    entry = ENTRY.match(first)
    body = first[entry.end() :] if entry else first
    before, begin, hint = body.rstrip().partition(HINT)
    if begin and hint.endswith(")"):
        body, hint = before.rstrip(), hint[:-1]
    else:
        hint = ""
    comment = COMMENT.search(body)
    guard = body[: comment.start()] if comment else body
    return GuardFailure(
        guard=normalised_guard(guard),
        entry=entry["entry"] if entry else None,
        code=(comment["code"] or "").strip() if comment else "",
        file=comment["file"].strip() if comment else "",
        line=int(comment["line"]) if comment else None,
        hint=hint,
    )


def normalised_guard(text: str) -> str:
    """`L['x']` -> `x`, addresses -> `…`, so that equal causes group across versions and runs."""
    return ADDRESS.sub("…", LOCAL.sub(r"\1", " ".join(text.split())))


def _reasons(lines: Sequence[str]) -> list[GuardFailure]:
    guards: list[str] = []
    for text in lines:
        stripped = text.strip()
        if not text.startswith("    - "):
            # A guard that holds a newline goes on without a bullet.
            skip = not stripped or stripped.startswith(("triggered by", "guard "))
            if guards and not skip and not stripped.startswith(("- ", "File ")):
                guards[-1] += "\n" + stripped
            continue
        body = text[6:]
        if STACK_LINE.match(body):
            continue
        guards.append(body)
    return [parse_guard(text) for text in guards]
