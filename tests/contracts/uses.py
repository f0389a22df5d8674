"""A contract on what the code of some modules uses: calls that read files, the clock, the net."""

import ast
import builtins
import importlib.util
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.domain.helpers import module_expressions_to_modules

_PATTERN_CALLS = ("search", "match", "fullmatch", "findall", "finditer", "split", "sub")

_TEXT_METHODS = (
    *("startswith", "endswith", "removeprefix", "removesuffix"),
    *("partition", "rpartition", "rsplit", "split", "find", "rfind"),
)


@dataclass(frozen=True)
class Use:
    """One place in a module that names something from elsewhere.

    Attributes:
        name: The dotted name with imports resolved: `datetime.datetime.now`, `builtins.open`. A
            member of a value that was not imported begins with a dot: `.read_text`. A division is
            `/`, and where a text is looked for or cut off is `in`, before what is divided by and
            looked into as the source has it: `/ summary.n_steps`, `in note.text`. Of a variable
            what the module assigns to it counts likewise.
        line: The line, from 1.
        is_bare_call: Whether it is called without an argument.
    """

    name: str
    line: int
    is_bare_call: bool


@cache  # several contracts ask for one module
def uses(source: str, module: str, is_package: bool = False) -> list[Use]:
    """All names that a module's source uses from its imports, the built-ins and values' members.

    Imports inside functions count for the whole module: a name that is imported anywhere in it is
    taken for that import everywhere, which can report too much and never too little.
    """
    tree = ast.parse(source)
    imported = _imported_names(tree, module if is_package else module.rpartition(".")[0])
    bare_calls = {
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and not node.args and not node.keywords
    }
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assigned = _assigned(tree)
    results = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and id(node) not in inner:
            name = _dotted(node, imported)
            if name is not None:
                results.append(Use(name, node.lineno, id(node) in bare_calls))
        elif isinstance(node, ast.Attribute):
            results.append(Use(f".{node.attr}", node.lineno, id(node) in bare_calls))
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(
            node.op, ast.Div | ast.FloorDiv
        ):
            divisor = node.right if isinstance(node, ast.BinOp) else node.value
            texts = _written(divisor, assigned)
            results += [Use(f"/ {text}", node.lineno, False) for text in texts]
        for whole in _looked_into(node):
            texts = _written(whole, assigned)
            results += [Use(f"in {text}", node.lineno, False) for text in texts]
    return results


def _assigned(tree: ast.AST) -> dict[str, set[str]]:
    """Name of a variable -> all that the module assigns to it, as the source has it."""
    values: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        for target in targets:
            if isinstance(target, ast.Name) and value is not None:
                values.setdefault(target.id, set()).add(ast.unparse(value))
    return values


def _written(value: ast.expr, assigned: dict[str, set[str]]) -> list[str]:
    text = ast.unparse(value)
    return [text, *sorted(assigned.get(text, ()))]


def _looked_into(node: ast.AST) -> list[ast.expr]:
    """What a text is looked for in: by `in`, by a pattern, by a method of the text itself."""
    if isinstance(node, ast.Compare):
        pairs = zip(node.ops, node.comparators, strict=True)
        return [whole for operator, whole in pairs if isinstance(operator, ast.In | ast.NotIn)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _PATTERN_CALLS:
            return list(node.args)
        if node.func.attr in _TEXT_METHODS:
            return [node.func.value]
    return []


def _imported_names(tree: ast.AST, package: str) -> dict[str, str]:
    """Local name -> dotted name of what was imported under it."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.split(".")[0]
                names[local] = alias.name if alias.asname else local
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            origin = ".".join(filter(None, (*(above if node.level else ()), node.module)))
            for alias in node.names:
                names[alias.asname or alias.name] = f"{origin}.{alias.name}"
    return names


def _dotted(node: ast.expr, imported: dict[str, str]) -> str | None:
    """`a.b.c` with its first name resolved; `.c` where that is neither imported nor built in."""
    members: list[str] = []
    while isinstance(node, ast.Attribute):
        members.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        if node.id in imported:
            return ".".join((imported[node.id], *members))
        if hasattr(builtins, node.id) and not members:
            return f"builtins.{node.id}"
    return f".{members[-1]}" if members else None


class UsesContract(Contract):
    """Modules use nothing that the contract forbids.

    Options:
        source_modules: The modules, each with what lies below it.
        forbidden: Names as `Use.name` gives them, with `*` for anything; `name()` forbids only a
            call without arguments.
        allowed: Names out of the forbidden ones that are allowed after all.
        except_in: Modules that may, each with what lies below it; one that needs no exception any
            more is a violation too.
    """

    type_name = "uses"

    source_modules = fields.SetField(subfield=fields.ModuleExpressionField())
    forbidden = fields.ListField(subfield=fields.StringField())
    allowed = fields.ListField(subfield=fields.StringField(), required=False, default=())
    except_in = fields.SetField(subfield=fields.StringField(), required=False, default=frozenset())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """The forbidden uses, each as module, name and line."""
        modules = {
            descendant
            for module in module_expressions_to_modules(graph, self.source_modules)
            for descendant in (module.name, *graph.find_descendants(module.name))
        }
        words = {re.findall(r"\w+", name)[-1] for name in self.forbidden}
        illegal: list[tuple[str, str, int]] = []
        needless = set(self.except_in)
        for module in sorted(modules):
            path = _file_of(module)
            if path is None:  # a folder without an __init__.py
                continue
            source = path.read_text(encoding="utf-8")
            if not any(word in source for word in words):  # far quicker than reading its syntax
                continue
            for use in uses(source, module, path.name == "__init__.py"):
                if not self._is_forbidden(use):
                    continue
                exceptions = {e for e in self.except_in if f"{module}.".startswith(f"{e}.")}
                needless -= exceptions
                if not exceptions:
                    illegal.append((module, use.name, use.line))
        illegal += [(module, "nothing of what is forbidden any more", 0) for module in needless]
        return ContractCheck(kept=not illegal, metadata={"illegal": illegal})

    def _is_forbidden(self, use: Use) -> bool:
        if use.is_bare_call and f"{use.name}()" in self.forbidden:
            return True
        return any(fnmatchcase(use.name, name) for name in self.forbidden) and not any(
            fnmatchcase(use.name, name) for name in self.allowed
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        """One line for each forbidden use."""
        for module, name, line in check.metadata["illegal"]:
            output.print_error(f"- {module} uses {name} (l.{line})", bold=False)
        output.new_line()


@cache
def _root_folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))


def _file_of(module: str) -> Path | None:
    """The file of a module of the packages that are checked; None for a namespace package."""
    root, *parts = module.split(".")
    stem = _root_folder(root).joinpath(*parts)
    candidates = (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)
