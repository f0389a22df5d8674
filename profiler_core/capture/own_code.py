"""Checks the user's `path/to/file.py:function` by parsing the file, without importing it.

Importing would run the code in the web server, and the interpreter that it needs may be another
one. So the file's syntax tree has to do: what it cannot tell is left to the child process.
"""

import ast
from difflib import get_close_matches
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.home import expanded

_LARGEST_BYTES = 4_000_000  # no hand-written module is longer


def check_own_code(text: str, *, looks_at_file: bool = True) -> str:
    """The workload with an absolute path, as a job needs it that runs in another folder.

    Args:
        text: what was typed.
        looks_at_file: whoever typed it may know what lies there; else only its form is checked,
            and the path stays as it was typed.

    Raises:
        BadInput: no such file, it is no Python, or it has no such function.
    """
    file_text, colon, function = text.strip().rpartition(":")
    if not colon or not file_text.endswith(".py") or not function.strip().isidentifier():
        raise BadInput(
            f"“{text.strip()}” does not name a function in a file.",
            remedy="Write it like path/to/file.py:function.",
        )
    if not looks_at_file:
        return f"{file_text}:{function}"
    path = expanded(file_text).absolute()
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise BadInput(f"{path} is too long for a module.", remedy="Name the file of the code.")
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror}.", remedy="Name a file on this machine."
        ) from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line, what = "", str(error)
        if isinstance(error, SyntaxError):  # whose text has file and line once more
            line, what = f", line {error.lineno}", error.msg
        raise BadInput(
            f"{path} is not valid Python{line}: {what}.", remedy="Correct it."
        ) from error
    _check_defined(tree, path, function)
    return f"{path}:{function}"


def check_function(path: Path, function: str) -> None:
    """Refuse a function that the file does not have; a file that cannot be parsed is let through.

    It may be written for a newer Python than this one.

    Raises:
        BadInput: it has no such function.
    """
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    _check_defined(tree, path, function)


def _check_defined(tree: ast.Module, path: Path, function: str) -> None:
    defined, is_complete = _names(tree)
    if function not in defined and is_complete:
        close = get_close_matches(function, defined, n=1)
        functions = [close[0]] if close else sorted(defined)[:6]
        remedy = f"It has {', '.join(functions)}." if functions else "Define it there."
        raise BadInput(f"{path.name} has no function {function}.", remedy=remedy)


def _names(tree: ast.Module) -> tuple[set[str], bool]:
    """Names that may be called, and whether these are all (a star import or a branch may add)."""
    names: set[str] = set()
    is_complete = True
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Assign():
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.ImportFrom():
                names |= {alias.asname or alias.name for alias in node.names}
                is_complete &= all(alias.name != "*" for alias in node.names)
            case ast.Import() | ast.Expr():
                pass  # nobody calls a module
            case _:
                is_complete = False
    return names, is_complete
