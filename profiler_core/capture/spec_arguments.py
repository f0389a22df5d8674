"""The command line of a capture: argparse words <-> CaptureSpec."""

import argparse
from collections.abc import Collection
from typing import Any

from profiler_core.capture.option import Declared, declared
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.sweep.points import points_of
from profiler_core.errors import BadInput

_TYPES: dict[str, type] = {"whole number": int, "number": float}


def add_spec_arguments(
    parser: argparse.ArgumentParser,
    *,
    without: Collection[str] = (),
    may_lack_workload: bool = False,
) -> None:
    """Add every word that `CaptureSpec.to_argv` can write; what is not given stays None.

    Args:
        parser: of a verb.
        without: names of options that it does not have.
        may_lack_workload: it may be called without one.
    """
    groups: dict[str, Any] = {"": parser}
    for name, entry in declared(CaptureSpec).items():
        title = entry.about.group
        if name in without:
            continue
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        help_text = _help(entry).replace("%", "%%")
        if entry.about.positional:
            nargs = "?" if may_lack_workload else None
            groups[title].add_argument(name, nargs=nargs, help=help_text)
        elif entry.kind == "switch":
            groups[title].add_argument(
                entry.flag, dest=name, action="store_const", const=not entry.default, help=help_text
            )
        else:
            groups[title].add_argument(
                entry.flag,
                dest=name,
                action="append" if entry.about.repeats or entry.about.only_once else "store",
                type=_TYPES.get(entry.kind, str),
                metavar=entry.about.metavar or None,
                help=help_text,
            )


def _help(entry: Declared) -> str:
    text = f"leave out: {entry.help}" if entry.default is True else entry.help
    return f"{text} (default: {entry.default_text})" if entry.default_text else text


def spec_from_namespace(arguments: argparse.Namespace) -> CaptureSpec:
    """Build the spec; the inverse of `CaptureSpec.to_argv`.

    Raises:
        BadInput: a value cannot be read or used.
    """
    values = {
        name: entry.value(_single(entry, getattr(arguments, name)))
        for name, entry in declared(CaptureSpec).items()
        if getattr(arguments, name) is not None
    }
    spec = CaptureSpec(**values)
    points_of(spec)  # each point is checked before the first one starts
    return spec


def _single(entry: Declared, collected: Any) -> Any:
    """What argparse collected of an option that may be given once."""
    if not entry.about.only_once:
        return collected
    if len(collected) > 1:
        raise BadInput(
            f"{len(collected)} {entry.name}s are given: {' and '.join(collected)}.",
            remedy="Keep one of them.",
        )
    return collected[0]
