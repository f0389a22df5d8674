"""Names of kernels that fit into an answer and still tell each from all others of its run.

Names of C++ templates have thousands of characters, and often the same beginning.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

_LONGEST = 160
_ELLIPSIS = "…"
# From the shortest form on; the last leaves out nothing.
_FORMS: tuple[Callable[[str], str], ...] = (
    lambda name: name[:_LONGEST] + _ELLIPSIS,
    lambda name: name[: _LONGEST // 2] + _ELLIPSIS + name[-_LONGEST // 2 :],
    lambda name: name,
)


def short_names(names: Sequence[str]) -> Mapping[str, str]:
    """Each name -> itself, or a form of 160 characters that no other of these names has."""
    counts = [Counter(map(form, names)) for form in _FORMS]
    return {
        name: name
        if len(name) <= _LONGEST
        else next(
            form(name)
            for form, count in zip(_FORMS, counts, strict=True)
            if count[form(name)] == 1 or form is _FORMS[-1]
        )
        for name in names
    }


def named(text: str, names: Sequence[str]) -> list[str]:
    """The name that is the text or has it for its short form, else all that begin with it."""
    shown = short_names(names)
    exact = [name for name in names if text in (name, shown[name])]
    return exact or [name for name in names if name.startswith(text.rstrip(_ELLIPSIS))]
