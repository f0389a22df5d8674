"""Looks at every opcode of a pickle before anything is built from it.

A pickle is a program; most of its instructions only make lists, dicts, numbers and strings, a few
import and call. Only the first kind passes here, by a list of what is allowed, so that an opcode
that is not known yet is refused too (opcodes: Lib/pickletools.py, protocols 2 to 5).
"""

import pickletools
import re
from collections.abc import Callable

from profiler_core.errors import BadInput
from profiler_core.ingest.empty import empty_file
from profiler_core.ingest.quoted import quoted

REMEDY = "Pass a file that torch.cuda.memory._dump_snapshot wrote."

# No integer of a snapshot is longer: addresses and times have 8 bytes.
_LONGEST_INTEGER_BYTES = 16

# A run of opcodes whose length is fixed and which carry nothing to look at; one match of a regular
# expression walks hundreds of them at C speed (5 MB a 0.05 s; a Python loop takes 0.7 s).
# ( MARK, } ] ) empty containers, a e s u t l d fill them, N None, \x85-\x87 tuples, \x88 \x89 bool,
# \x94 MEMOIZE, K M J G numbers, h j references. Short strings too: the length stands before them.
_PLAIN = re.compile(rb"(?s:[(}\])aesutldN\x85\x86\x87\x88\x89\x94]|[Kh].|M..|[Jj]....|G........)+")

# Length-prefixed opcodes: how many bytes the length has, and what it announces.
_COUNTED = {
    0x8C: (1, "a string"),
    0x58: (4, "a string"),
    0x8D: (8, "a string"),
    0x43: (1, "bytes"),
    0x42: (4, "bytes"),
    0x8E: (8, "bytes"),
    0x8A: (1, "an integer"),
    0x8B: (4, "an integer"),
}
_FRAME, _PUT, _LONG_PUT, _PROTO, _STOP = 0x95, 0x71, 0x72, 0x80, 0x2E
_NAMES = {ord(op.code): op.name for op in pickletools.opcodes}
_IMPORTS = ("GLOBAL", "STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4")


def check_opcodes(data: bytes, name: str) -> None:
    """Refuse everything but plain containers, numbers, strings, bytes, None and booleans.

    Args:
        data: the whole pickle, unpacked.
        name: of the file, for the message.

    Raises:
        BadInput: one sentence with what was met and where.
    """
    if not data:
        raise empty_file(name, BadInput)
    if data[0] != _PROTO:
        raise BadInput(f"{name} is no pickle: it starts with {quoted(data[:8])}.", remedy=REMEDY)
    at, n = 0, len(data)
    while at < n:
        run = _PLAIN.match(data, at)
        if run is not None:
            at = run.end()
            if at >= n:
                break
        code = data[at]
        if code == _STOP:
            if at + 1 < n:
                raise BadInput(f"{name} goes on after its end, at byte {at + 1}.", remedy=REMEDY)
            return
        at = _next(data, at, code, name)
    raise BadInput(f"{name} ends early: its pickle has no end.", remedy=REMEDY)


def _next(data: bytes, at: int, code: int, name: str) -> int:
    """Where the opcode after the one at `at` stands; it is none of the plain ones."""
    if code in _COUNTED:
        width, content = _COUNTED[code]
        length = int.from_bytes(data[at + 1 : at + 1 + width], "little")
        if content == "an integer" and length > _LONGEST_INTEGER_BYTES:
            raise BadInput(f"{name} holds an integer of {length} bytes.", remedy=REMEDY)
        return _after(data, at + 1 + width, length, content, name)
    if code == _FRAME:
        length = int.from_bytes(data[at + 1 : at + 9], "little")
        _after(data, at + 9, length, "a frame", name)  # it is only announced: its content follows
        return at + 9
    if code == _PUT:
        return _after(data, at + 1, 1, "a reference", name)
    if code == _LONG_PUT:
        index = int.from_bytes(data[at + 1 : at + 5], "little")
        if index > at:  # each remembered object took a byte at least; more asks for memory alone
            raise BadInput(f"{name} remembers an object under number {index}.", remedy=REMEDY)
        return _after(data, at + 1, 4, "a reference", name)
    if code == _PROTO:
        return _after(data, at + 1, 1, "a protocol", name)
    raise BadInput(_refusal(data, at, code, name), remedy=REMEDY)


def _after(data: bytes, start: int, length: int, content: str, name: str) -> int:
    if start + length > len(data):
        raise BadInput(
            f"{name} announces {content} of {length} bytes where {max(0, len(data) - start)} are "
            "left.",
            remedy=REMEDY,
        )
    return start + length


def _refusal(data: bytes, at: int, code: int, name: str) -> str:
    opcode = _NAMES.get(code)
    if opcode is None:
        return f"{name} is damaged: byte {at} is no instruction of a pickle."
    if opcode in _IMPORTS:
        return f"{name} asks to import {_imported(data, at, opcode)}, and a snapshot is plain data."
    if _PLAIN.fullmatch(data[at : at + 1] + bytes(8)[: _argument(opcode)]):
        return f"{name} ends early, inside {opcode}."
    return f"{name} holds the instruction {opcode} at byte {at}, and a snapshot is plain data."


def _argument(opcode: str) -> int:
    described = next(op for op in pickletools.opcodes if op.name == opcode).arg
    return max(0, described.n) if described is not None else 0


def _imported(data: bytes, at: int, opcode: str) -> str:
    """What GLOBAL and INST name; STACK_GLOBAL takes the two strings before it."""
    readers: dict[str, Callable[[], str]] = {
        "GLOBAL": lambda: ".".join(_lines(data, at + 1)),
        "INST": lambda: ".".join(_lines(data, at + 1)),
        "STACK_GLOBAL": lambda: ".".join(_strings_before(data, at)),
    }
    module = readers[opcode]() if opcode in readers else ""
    return f"“{module}”" if module else "something"


def _lines(data: bytes, start: int) -> list[str]:
    words = data[start : start + 200].split(b"\n")[:2]
    return [word.decode("utf-8", "replace") for word in words]


_SHORT_STRING = re.compile(rb"\x8c(.)", re.DOTALL)


def _strings_before(data: bytes, at: int) -> list[str]:
    """The last two short strings before `at`, each a run of printable characters."""
    strings = []
    start = max(0, at - 200)
    for match in _SHORT_STRING.finditer(data, start, at):
        text = data[match.end() : match.end() + match.group(1)[0]]
        if match.end() + len(text) <= at and text.isascii() and text.decode().isprintable():
            strings.append(text.decode())
    return strings[-2:]
