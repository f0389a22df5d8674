"""The declaration of a backend of torch.compile: one `Backend`, declared in one file.

The files of `backends/` declare one each. They are read on both sides: by the child, in the user's
interpreter (Python 3.8 on, torch there, Fusionscope not), and by the command line, the pages and
the analyses, where torch may be missing. So nothing here imports torch, or the package of a
backend, before a method is called.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import engine_calls

# What a value of an option is: `true`, `5`, `a:b`, any word; a table has a key for each entry.
KINDS = ("text", "switch", "whole number", "list", "table")


@dataclass(frozen=True)
class Option:
    """One option that a backend takes: `+KEY=VALUE`.

    kind: of KINDS. The key of a table ends in `.`, and the entry's own name follows it.
    """

    key: str
    about: str
    example: str
    kind: str = "text"

    @property
    def shown_key(self) -> str:
        """The key as documentation shows it: `device`, or `config.NAME` for a table."""
        return "{}NAME".format(self.key) if self.kind == "table" else self.key

    def is_for(self, key: str) -> bool:
        """Whether this key sets this option."""
        return key == self.key or (self.kind == "table" and key.startswith(self.key))


@dataclass(frozen=True)
class Package:
    """What a backend needs beside torch.

    module: imported first; it registers the backend, or torch's own entry imports it later.
    distribution: whose version is told.
    install: the end of the sentence "Install …".
    """

    module: str
    distribution: str
    install: str


@dataclass(frozen=True)
class Documented:
    """Its row in docs/backends.md, in Markdown.

    label: what its first cell says instead of its names.
    takes: what its cell of options says instead of the declared ones, or after them.
    """

    needs: str
    tried: str
    measured: str
    not_measured: str = ""
    label: str = ""
    takes: str = ""


@dataclass(frozen=True)
class Backend:
    """One backend. A subclass in its file overrides the methods where the backend is special.

    aliases: further names under which the same package registers it.
    spelt_out: of its names, those that are only written as `backend:NAME`; they are not offered.
    package: None: torch brings it.
    takes: "any" option, those that are "declared" (a misspelt one would go unnoticed), or "none"
        (torch.compile would raise a TypeError at the first call).
    dotted_keys: its options have names with dots; else a dot goes one level deeper.
    defaults: options that it is given where the variant does not say otherwise.
    example: KEY=VALUE that shows how its options are written.
    operators: beginnings of the names of the operators by which its own package runs an engine.
        Without any, the capture puts an operator `engine::NAME` around each call.
    draws_otherwise: it has a random generator of its own, so that dropout differs from eager's.
    """

    name: str
    documented: Documented
    aliases: Tuple[str, ...] = ()
    spelt_out: Tuple[str, ...] = ()
    package: Optional[Package] = None
    options: Tuple[Option, ...] = ()
    takes: str = "any"
    dotted_keys: bool = False
    defaults: Dict[str, Any] = field(default_factory=dict)
    example: str = ""
    operators: Tuple[str, ...] = ()
    draws_otherwise: bool = False

    @property
    def names(self) -> Tuple[str, ...]:
        """What `torch.compile(backend=…)` may call it."""
        return (self.name, *self.aliases)

    @property
    def offered(self) -> Tuple[str, ...]:
        """Its names that stand alone in a variant, and that the page offers."""
        return tuple(name for name in self.names if name not in self.spelt_out)

    @property
    def has_line(self) -> bool:
        """Whether `doctor` lists it: it needs a package beside torch, and is offered."""
        return self.package is not None and self.name in self.offered

    def option(self, key: str) -> Optional[Option]:
        """The declared option that this key means; None: it is not declared."""
        return next((option for option in self.options if option.is_for(key)), None)

    def load(self, device_type: str) -> None:
        """Import what registers it, in the child.

        Raises:
            Exception: whatever the import raises; ModuleNotFoundError where it is absent.
        """
        if self.package is not None:
            importlib.import_module(self.package.module)

    def converted(self, options: Dict[str, Any]) -> Dict[str, Any]:
        """The options in the types that the backend takes; dtypes are torch.dtype already."""
        return options

    def set_up(self, name: str, original: Any) -> Any:
        """The backend for torch.compile, wrapped so that its work shows in a trace.

        Args:
            name: the one of its names that was asked for.
            original: what torch has registered under it.
        """
        if self.operators:
            return engine_calls.ranged(name, original)
        return engine_calls.ranged(name, original, engine_calls.counted(name, is_known=True))

    def device(self, name: str, device: Any) -> Any:
        """The device that model and inputs must be on; called before the package is imported."""
        return device

    def end_of_step(self, name: str, training: bool) -> Callable[[], Any]:
        """A function that every step calls at its end, within the timed part."""
        return _nothing

    def rounding(self, precision: str) -> List[str]:
        """Sentences on why an output may differ although the engine works as configured."""
        return []

    def remedy(self, training: bool) -> Optional[str]:
        """The remedy where its own compiler failed; None: there is none."""
        return None


def _nothing() -> None:
    pass
