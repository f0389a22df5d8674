"""Kernel names that ncu and Kineto spell differently, made comparable.

ncu leaves namespaces out ("at::foo" for "at::native::foo"), prints `<unnamed>` for
`(anonymous namespace)`, 0 and 1 for false and true, T1 for a parameter's type, and may leave the
template's arguments out altogether (--kernel-name-base function). So a name is taken apart into
what the function is called and the words of its template's arguments, each without namespaces.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

# Two spellings of one kernel share most words; two functors in one template share hardly any.
_ALIKE = 0.4

_ANONYMOUS = re.compile(r"\(anonymous namespace\)|<unnamed>|\{anonymous\}")
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
# Words that one of the two prints and the other does not, or that stand in every name.
_COMMON_WORDS = frozenset(
    [
        "void",
        "const",
        "char",
        "float",
        "int",
        "long",
        "unsigned",
        "bool",
        "true",
        "false",
        "lambda",
        "operator",
        "instance",
        "native",
        "std",
        "array",
        "detail",
        "anonymous",
        "unnamed",
        "namespace",
    ]
)


@dataclass(frozen=True)
class KernelKey:
    """What a kernel is called, and the words of its template's arguments."""

    function: str
    words: frozenset[str]


@lru_cache(maxsize=16_384)
def kernel_key(name: str) -> KernelKey:
    """The key of a name as ncu or Kineto prints it."""
    bare_name = _ANONYMOUS.sub("", name).removeprefix("void ").strip()
    head = re.split(r"[<(]", bare_name, maxsplit=1)[0]
    function = head.split("::")[-1].strip() or bare_name
    arguments = _template(bare_name[len(head) :])
    words = (word.split("::")[-1] for word in _WORD.findall(arguments))
    return KernelKey(function, frozenset(words) - _COMMON_WORDS)


def likeness(first: KernelKey, second: KernelKey) -> float:
    """1: the same name; 0: another kernel; between: one kernel in two spellings."""
    if first.function != second.function:
        return 0.0
    if not first.words or not second.words:  # nothing but the function to go by
        return 1.0
    shared = len(first.words & second.words) / min(len(first.words), len(second.words))
    return shared if shared >= _ALIKE else 0.0


def _template(text: str) -> str:
    """The part in the angle brackets that open the text; "" without any."""
    if not text.startswith("<"):
        return ""
    depth = 0
    for position, character in enumerate(text):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if depth == 0:
            return text[1:position]
    return text[1:]
