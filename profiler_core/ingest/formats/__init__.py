"""The kinds of files there are: one module each in this package, with its FORMAT.

A new module is enough: recognition, reading, uploads, stored names, the cache, the command line's
options and the lists that users read follow from it.
"""

import importlib
import pkgutil
from collections import Counter
from functools import cache

from profiler_core.ingest.file_kind import FileKind, Role, TraceFormat

_NOT_LISTED = (Role.RECORD, Role.ARCHIVE, Role.NOT_READ)


@cache
def file_kinds() -> tuple[FileKind, ...]:
    """Every kind, in the order in which they are asked whether a file is theirs.

    Raises:
        TypeError: a module of this package has no FORMAT.
        ValueError: two of them have the same slug, or the same name in a run directory.
    """
    kinds = []
    for name in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        kind = getattr(importlib.import_module(f"{__name__}.{name}"), "FORMAT", None)
        if not isinstance(kind, FileKind):
            raise TypeError(f"{__name__}.{name} has no FORMAT that is a FileKind.")
        kinds.append(kind)
    _check_distinct("slug", [kind.slug for kind in kinds])
    _check_distinct("name in a run directory", [n for kind in kinds for n in kind.stored_names()])
    return tuple(sorted(kinds, key=lambda kind: (kind.certainty, kind.slug)))


@cache
def trace_formats() -> tuple[TraceFormat, ...]:
    """Those that become a Trace, in the order in which a run directory's names are looked for."""
    formats = [kind for kind in file_kinds() if isinstance(kind, TraceFormat)]
    return tuple(sorted(formats, key=lambda kind: (not kind.reads_unrecognised, kind.slug)))


def trace_format(slug: str) -> TraceFormat:
    """The format of this slug.

    Raises:
        KeyError: there is none.
    """
    return {kind.slug: kind for kind in trace_formats()}[slug]


def fallback_format() -> TraceFormat:
    """Whose reader takes what no kind recognised, and says what is wrong with it."""
    return next(kind for kind in trace_formats() if kind.reads_unrecognised)


def kind_with_head(head: bytes) -> FileKind | None:
    """The kind of a file whose unpacked content begins with `head`; None if no kind matches."""
    return next((k for k in file_kinds() if k.role is not Role.ARCHIVE and k.is_it(head)), None)


def archive_with_head(head: bytes) -> FileKind | None:
    """The kind of an archive that begins, as it lies there, with these bytes."""
    return next((k for k in file_kinds() if k.role is Role.ARCHIVE and k.is_it(head)), None)


@cache
def stored_names(role: Role) -> tuple[str, ...]:
    """The names of files of this role in a run directory, in the order to look for them."""
    kinds = trace_formats() if role is Role.TRACE else file_kinds()
    return tuple(name for kind in kinds if kind.role is role for name in kind.stored_names())


@cache
def patterns(role: Role) -> tuple[str, ...]:
    """Globs of the files in a run directory of a role that may have several."""
    return tuple(
        f"{kind.stored_as}/*{ending}*"
        for kind in file_kinds()
        if kind.role is role and kind.several
        for ending in kind.endings
    )


@cache
def trace_endings() -> tuple[str, ...]:
    """The endings of traces' names, packed or not; for `str.endswith`, in lower case."""
    return tuple(sorted({e for kind in trace_formats() for e in kind.packed_endings()}))


@cache
def endings() -> tuple[str, ...]:
    """The endings of all kinds' names without packing, the longest first."""
    unsorted = {ending for kind in file_kinds() for ending in kind.endings}
    return tuple(sorted(unsorted, key=lambda ending: (-len(ending), ending)))


@cache
def usual_words() -> frozenset[str]:
    """Words of files' names that do not tell whose file it is."""
    return frozenset(word for kind in file_kinds() for word in kind.usual_words)


@cache
def accepted() -> tuple[str, ...]:
    """What may be opened and uploaded, in the plural: traces first."""
    other_kinds = [k for k in file_kinds() if k.role not in (Role.TRACE, *_NOT_LISTED)]
    return tuple(kind.plural for kind in (*trace_formats(), *other_kinds))


def forget() -> None:
    """Look into the package anew: a module came or went."""
    for function in (
        *(file_kinds, trace_formats, stored_names, patterns),
        *(trace_endings, endings, usual_words, accepted),
    ):
        function.cache_clear()


def _check_distinct(attribute: str, values: list[str]) -> None:
    twice = [value for value, n in Counter(values).items() if n > 1]
    if twice:
        raise ValueError(f"Two kinds of files have the same {attribute}: {', '.join(twice)}.")
