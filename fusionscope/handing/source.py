"""The source of what a cell, a script or a prompt defines, and of all that it needs, in order."""

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator, Mapping
from textwrap import dedent
from types import CodeType, FunctionType, ModuleType
from typing import Any

from profiler_core.errors import BadInput

MAIN = "__main__"
REMEDY = (
    'Define it in a file, and pass "path/to/file.py:build", where build() returns the model and '
    "its inputs."
)
_LITERALS = (bool, int, float, complex, str, bytes, type(None))


class Definitions:
    """Source of definitions, each after those that it needs to be made.

    `lines` is the source so far; `values` are what it names and no source makes, by name.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.values: dict[str, Any] = {}
        self._made: dict[str, Any] = {}

    @property
    def text(self) -> str:
        """The source of a module."""
        return "\n".join(self.lines)

    def add(self, definition: Any) -> str:
        """Define a class or function that no other process can import; its name in the source.

        Raises:
            BadInput: its source is not known.
        """
        if isinstance(definition, FunctionType) and definition.__name__ == "<lambda>":
            name, source = "step", f"step = {_lambda_of(definition)}"
        else:
            name, source = definition.__name__, _source_of(definition)
        if name in self._made:
            self._check_same(name, definition)
            return name
        self._made[name] = definition
        surroundings = _surroundings(definition)
        for needed in _names_in(source, name):
            if needed in surroundings:
                self._need(needed, surroundings[needed])
        self.lines += ["", *source.splitlines(), ""]
        return name

    def _need(self, name: str, value: Any) -> None:
        """Define a name of the source as what it is here."""
        if name in self._made:
            self._check_same(name, value)
            return
        if is_local(value):
            defined = self.add(value)
            if defined != name:
                self._made[name] = value
                self.lines.append(f"{name} = {defined}")
            return
        self._made[name] = value
        line = _line_for(name, value)
        if line is None:
            self.values[name] = value
        else:
            self.lines.append(line)

    def _check_same(self, name: str, value: Any) -> None:
        if self._made[name] is not value:
            raise BadInput(
                f"Two different things are called {name} where the model is defined.",
                remedy="Rename one of them.",
            )


def is_local(definition: Any) -> bool:
    """Is it a class or function that only this process has, of a cell, a script or another one?"""
    if not isinstance(definition, type | FunctionType):
        return False
    return definition.__module__ == MAIN or "<" in definition.__qualname__


def _line_for(name: str, value: Any) -> str | None:
    """The statement that makes a name of a module; None: only the value itself can be saved."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}" if value.__name__ in sys.modules else None
    if isinstance(value, _LITERALS):
        return f"{name} = {value!r}" if repr(value) not in ("nan", "inf", "-inf") else None
    home, path = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    is_there = isinstance(home, str) and getattr(sys.modules.get(home), path, None) is value
    return f"from {home} import {path} as {name}" if is_there and path.isidentifier() else None


def _surroundings(definition: Any) -> Mapping[str, Any]:
    """The names that its source can see: of its module, and of the functions around it."""
    if isinstance(definition, type):
        methods = [value for value in vars(definition).values() if isinstance(value, FunctionType)]
        names = dict(vars(sys.modules.get(definition.__module__, ModuleType(MAIN))))
        for method in methods:
            names |= _closure(method)
        return {name: value for name, value in names.items() if name != "__class__"}
    return {**definition.__globals__, **_closure(definition)}


def _closure(function: FunctionType) -> dict[str, Any]:
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return values


def _names_in(source: str, own: str) -> Iterator[str]:
    """Names that it reads, in their order, each once; its own is none of them."""
    names = (node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))
    return iter(dict.fromkeys(name for name in names if name != own))


def _source_of(definition: Any) -> str:
    try:
        text = (
            _class_source(definition)
            if isinstance(definition, type)
            else inspect.getsource(definition)
        )
        source = dedent(text)
        ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        raise _unknown(definition) from None
    return source


def _class_source(definition: type) -> str:
    """By the file of its methods: a class of a cell knows none of its own."""
    files = [
        value.__code__.co_filename
        for value in vars(definition).values()
        if isinstance(getattr(value, "__code__", None), CodeType)
    ]
    cells = [name for name in reversed(list(linecache.cache)) if _is_cell(name)]
    main_file = getattr(sys.modules.get(definition.__module__), "__file__", None)
    for file in dict.fromkeys([*files, *filter(None, [main_file]), *cells]):
        lines = linecache.getlines(file)
        try:
            tree = ast.parse("".join(lines))
        except SyntaxError:  # a cell with magics, or no Python
            continue
        for node in reversed(list(ast.walk(tree))):
            if isinstance(node, ast.ClassDef) and node.name == definition.__name__:
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                return "".join(lines[first - 1 : node.end_lineno])
    raise OSError


def _is_cell(file: str) -> bool:
    return file.startswith("<") or "ipykernel" in file


def _lambda_of(function: FunctionType) -> str:
    """The one lambda of the statement that it stands in."""
    try:
        text = dedent(inspect.getsource(function)).strip()
        tree = _parsed(text)
    except (OSError, TypeError):
        raise _unknown(function) from None
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)] if tree else []
    if len(lambdas) != 1:
        raise BadInput(
            "The source of this lambda is not known: it does not stand alone in its statement.",
            remedy="Define it by def, and pass its name.",
        )
    return ast.unparse(lambdas[0])


def _parsed(text: str) -> ast.AST | None:
    """The statement; a line of a longer one may lack what stands around it."""
    for candidate in (text, text.rstrip(","), text + ")", f"({text}", f"f({text}"):
        try:
            return ast.parse(candidate)
        except SyntaxError:
            continue
    return None


def _unknown(definition: Any) -> BadInput:
    name = getattr(definition, "__qualname__", repr(definition))
    return BadInput(
        f"The source of {name} is not known, so it cannot be handed to the process that measures.",
        remedy=REMEDY,
    )
