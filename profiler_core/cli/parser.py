"""The parser of every verb: defaults stand in its help, and some options are the same for all."""

import argparse
from collections.abc import Iterator
from typing import Any

_COMMON = "for every command"


class VerbParser(argparse.ArgumentParser):
    """A verb, or one of its actions, with the options that all have."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _Help)
        super().__init__(**options)
        group = self.add_argument_group(_COMMON)
        # Without a value of its own: an action must not undo what was said before its name.
        group.add_argument(
            "-q", "--quiet", action="store_true", default=argparse.SUPPRESS,
            help="only the answer and errors: no progress",
        )  # fmt: skip
        group.add_argument(
            "-v", "--verbose", action="store_true", default=argparse.SUPPRESS,
            help="also what is done meanwhile, and where an error came from",
        )  # fmt: skip
        group.add_argument(
            "--wide", action="store_true", default=argparse.SUPPRESS,
            help="cut nothing to the width of the terminal",
        )  # fmt: skip


class _Help(argparse.HelpFormatter):
    """Adds the default to what says none."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help
        if not has_default(action) or "default" in (text or ""):
            return text
        return f"{text or ''} (default: %(default)s)".strip()


def has_default(action: argparse.Action) -> bool:
    """Does leaving the option out mean a value that the help has to tell?"""
    return bool(action.option_strings) and action.default not in (
        None, False, True, "", [], argparse.SUPPRESS,
    )  # fmt: skip


def help_text(action: argparse.Action) -> str:
    """What the help says of an option, on one line."""
    return " ".join(_Help("")._expand_help(action).split()) if action.help else ""


def parsers_of(
    parser: argparse.ArgumentParser, name: str
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parser with its name, and those of its actions as `runs list`."""
    yield name, parser
    for action in parser._actions:  # argparse offers no other way to them
        if isinstance(action, argparse._SubParsersAction):
            for inner, below in action.choices.items():
                yield from parsers_of(below, f"{name} {inner}")
