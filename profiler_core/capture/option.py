"""An option of a capture, declared once beside the field of CaptureSpec that holds it.

From the declaration follow the argument of `capture`, the words that give the same capture again,
the check of a value, the field of the capture page, the argument of the agents' `start_capture` and
the row of docs/capture.md.
"""

import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, get_args

from profiler_core.errors import BadInput

Kind = Literal["switch", "whole number", "number", "text", "choices", "texts", "own"]
Group = Literal["", "what is run", "how it is measured"]

_METADATA = "option"


class BadOption(BadInput):
    """A value that an option cannot have. `option` is the name of its field in CaptureSpec."""

    def __init__(self, option: str, problem: str, *, remedy: str) -> None:
        super().__init__(problem, remedy=remedy)
        self.option = option


@dataclass(frozen=True, kw_only=True)
class Option:
    """The properties of an option beside its name, type and default.

    help: a phrase without capital and full stop; of a switch that is on, what it does when on.
    label: over its field on the page; the name where it is empty.
    flag: on the command line; made of the name where it is empty.
    least, most: the smallest and the largest number.
    step: by which the page's buttons change a number.
    unit: of a number; its sign stands behind the default.
    choices: value -> what it is. Only of these, where they are given.
    pattern: what a text has to match, and `examples` says so.
    parse: text -> value, for a type of its own; `write` is its inverse. With `repeats` it takes one
        of the texts, and the value is a tuple.
    repeats: given once for each of several values.
    only_once: a second one on the command line is refused rather than obeyed.
    always: stands in the words of a capture even where it is the default.
    positional: without a flag.
    on_page: whether the page has a field for it.
    more_help: what is only known once all modules are imported.
    """

    help: str
    label: str = ""
    group: Group = ""
    flag: str = ""
    metavar: str = ""
    placeholder: str = ""
    least: float | None = None
    most: float | None = None
    step: float | None = None
    unit: str = ""
    choices: Mapping[str, str] | None = None
    pattern: str = ""
    examples: str = ""
    parse: Callable[[str], Any] | None = None
    write: Callable[[Any], str] = str
    repeats: bool = False
    only_once: bool = False
    always: bool = False
    positional: bool = False
    on_page: bool = True
    more_help: Callable[[], str] | None = None

    def has(self, number: float) -> bool:
        """Whether it lies in the range; what is not a number lies in none."""
        least = -math.inf if self.least is None else self.least
        most = math.inf if self.most is None else self.most
        return least <= number <= most

    @property
    def range_text(self) -> str:
        """The range as it stands in a sentence."""
        least, most = ("" if end is None else f"{end:.15g}" for end in (self.least, self.most))
        if not most:
            return f"{least} or more"
        return f"{least} to {most}" if least else f"{most} or less"


@dataclass(frozen=True)
class Declared:
    """An option with the name, the type and the default of its field."""

    name: str
    type: Any
    default: Any  # MISSING where it must be given
    about: Option

    @property
    def kind(self) -> Kind:
        """How a value is written."""
        if self.about.parse is not None:
            return "texts" if self.about.repeats else "own"
        if self.about.choices is not None and self.default == ():
            return "choices"
        kinds: dict[type, Kind] = {
            bool: "switch", int: "whole number", float: "number", str: "text",
        }  # fmt: skip
        of_field = (self.type, *get_args(self.type))  # `int | None` has the kind of int
        return next(kinds[part] for part in of_field if part in kinds)

    @property
    def flag(self) -> str:
        """As on the command line; of a switch that is on, the flag that turns it off."""
        flag_text = self.about.flag or self.name.replace("_", "-")
        return f"--no-{flag_text}" if self.kind == "switch" and self.default else f"--{flag_text}"

    @property
    def label(self) -> str:
        """Over its field on the page."""
        return self.about.label or self.name.replace("_", " ").capitalize()

    @property
    def help(self) -> str:
        """The phrase with the choices."""
        parts = [self.about.help]
        if self.about.choices is not None:
            parts.append(
                "; ".join(f"{name}, {meaning}" for name, meaning in self.about.choices.items())
            )
        if self.about.more_help is not None:
            parts.append(self.about.more_help())
        return ": ".join(parts)

    @property
    def sentence(self) -> str:
        """The same as a sentence, for a page."""
        return f"{self.help[:1].upper()}{self.help[1:]}."

    @property
    def default_text(self) -> str:
        """The default as it would be typed; "" where there is none, or where it is off."""
        if self.kind == "switch" or self.default in (MISSING, None, ()):
            return ""
        return f"{self.text(self.default)} {self.about.unit}".rstrip()

    def text(self, value: Any) -> str:
        """A value as it is typed; not of one that repeats or switches."""
        return ",".join(value) if self.kind == "choices" else self.about.write(value)

    def words(self, value: Any) -> list[str]:
        """The words of the command line that give this value; none for the default."""
        if self.about.positional:
            return [str(value)]
        if value == self.default and not self.about.always:
            return []
        if self.kind == "switch":
            return [self.flag]
        if self.kind == "texts":
            return [f"{self.flag}={self.about.write(item)}" for item in value]
        if self.about.always:
            return [self.flag, self.text(value)]
        return [f"{self.flag}={self.text(value)}"]

    def value(self, raw: Any) -> Any:
        """What was typed, or sent as JSON, as the field holds it; the default for a blank text.

        One of several texts may stand on each line of one.

        Raises:
            BadInput: it cannot be read.
        """
        if isinstance(raw, str):
            raw = raw.strip()
            if not raw and self.default is not MISSING:
                return self.default
            if self.kind == "choices":
                raw = raw.split(",")
            elif self.kind == "texts":
                raw = raw.splitlines()
        if self.kind == "choices":
            return tuple(name.strip() for name in raw if name.strip())
        if self.about.parse is None:
            return raw
        if self.kind == "texts":
            return tuple(self.about.parse(text) for text in raw if text.strip())
        return self.about.parse(raw)

    def check(self, value: Any) -> None:
        """Refuse a value that is out of range or not among the choices.

        Raises:
            BadOption: with the flag, the value and what is possible.
        """
        about = self.about
        if value is not None and self.kind in ("whole number", "number") and not about.has(value):
            raise BadOption(
                self.name, f"{self.flag} is {str(value)[:40]}.", remedy=f"Pass {about.range_text}."
            )
        if about.pattern and not re.fullmatch(about.pattern, str(value)):
            raise BadOption(
                self.name,
                f"{self.label} '{str(value)[:80]}' is unknown.",
                remedy=f"Use {about.examples}.",
            )
        if self.kind == "choices":
            for name in value:
                if name not in (about.choices or ()):
                    raise BadOption(
                        self.name,
                        f"{self.name.capitalize().rstrip('s')} '{name[:80]}' is unknown.",
                        remedy=f"Choose from {', '.join(about.choices or ())}.",
                    )


def option(default: Any = MISSING, **about: Any) -> Any:
    """A field of CaptureSpec; `about` are the fields of Option."""
    return field(default=default, metadata={_METADATA: Option(**about)})


@functools.cache
def declared(spec: type) -> dict[str, Declared]:
    """The options of a spec by the names of their fields, in their order."""
    return {
        entry.name: Declared(entry.name, entry.type, entry.default, entry.metadata[_METADATA])
        for entry in fields(spec)
    }
