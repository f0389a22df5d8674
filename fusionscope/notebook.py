"""`%load_ext fusionscope`: the cell magic `%%compiled` compares a cell eager against compiled."""

import argparse
import ast
import linecache
import shlex
from typing import Any

from fusionscope.capturing import capture
from fusionscope.results import Comparison
from profiler_core.capture.spec_arguments import add_spec_arguments
from profiler_core.errors import BadInput

_WITHOUT = ("workload", "sweep", "against", "training", "shapes", "batch_size", "options")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        """A mistake in the line is an error as any other: it does not end the kernel."""
        raise BadInput(f"%%compiled: {message}.", remedy="Run %%compiled --help in a cell.")


def load(shell: Any) -> None:
    """Make the magic known.

    Args:
        shell: an InteractiveShell of IPython.
    """

    def compiled(line: str, cell: str | None = None) -> Comparison | None:
        return run_cell(shell, line, cell)

    compiled.__doc__ = _parser().format_help()
    shell.register_magic_function(compiled, magic_kind="line_cell", magic_name="compiled")


def run_cell(shell: Any, line: str, cell: str | None) -> Comparison | None:
    """Capture the cell as one step, again and again; its last expression is what is checked.

    Args:
        shell: whose names the cell sees.
        line: options of a capture.
        cell: Python; None: only the help is asked for.

    Raises:
        FusionscopeError: as `capture`; and where the cell is no Python.
    """
    parser = _parser()
    words = shlex.split(line)
    if cell is None or {"-h", "--help"} & set(words):
        print(parser.format_help())
        return None
    given = vars(parser.parse_args(words))
    out, quiet = given.pop("out"), given.pop("quiet")
    options = {name: value for name, value in given.items() if value is not None}
    step = _step_of(cell, shell.user_ns)
    return capture(step, out=out, progress=not quiet, **{"name": "%%compiled cell", **options})


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="%%compiled",
        add_help=False,
        description="Measure this cell as one step, eager against compiled.",
    )
    add_spec_arguments(parser, without=_WITHOUT)
    parser.add_argument("--out", help="where the capture's folder is made (default: your library)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return parser


def _step_of(cell: str, names: dict[str, Any]) -> Any:
    """The cell as a function without arguments, among the names of the notebook.

    Names that it assigns are its own, but for those that the notebook has already: these keep what
    a step assigns for the next one, as when the cell is run again.
    """
    try:
        body = ast.parse(cell).body
    except SyntaxError as error:
        raise BadInput(
            f"The cell is not valid Python, line {error.lineno}: {error.msg}.",
            remedy="Leave shell commands and other magics out of it.",
        ) from None
    if not body:
        raise BadInput("The cell is empty.", remedy="Write one step of the model into it.")
    if isinstance(body[-1], ast.Expr):
        body[-1] = ast.Return(body[-1].value)
    assigned = {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    shared = sorted(assigned & set(names))
    lines = ["def step():"]
    lines += [f"    global {', '.join(shared)}"] if shared else []
    for statement in body:
        text = ast.unparse(ast.fix_missing_locations(statement))
        lines += [f"    {part}" for part in text.splitlines()]
    source = "\n".join(lines) + "\n"
    file = "<%%compiled>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    made: dict[str, Any] = {}
    exec(compile(source, file, "exec"), names, made)  # noqa: S102 - what the user has written
    return made["step"]
