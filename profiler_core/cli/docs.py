"""`docs [PAGE]`: the pages of the documentation, wherever Fusionscope is installed."""

import argparse

from profiler_core import resources
from profiler_core.cli.table import table
from profiler_core.errors import BadInput


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("docs", help="the pages that help texts name as docs/…")
    parser.add_argument(
        "page", nargs="?", metavar="PAGE", help="json, columns, … (default: the list of them)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print one page as it is written, or the list.

    Raises:
        BadInput: there is no such page.
    """
    pages = {path.stem: path for path in sorted(resources.docs_directory().glob("*.md"))}
    if arguments.page is None:
        rows = [[name, path.read_text("utf-8").splitlines()[0].lstrip("# ")] for name, path in
                pages.items()]  # fmt: skip
        print(table(["page", "about"], rows, n_text=2))
        return 0
    name = arguments.page.removeprefix("docs/").removesuffix(".md")
    if name not in pages:
        raise BadInput(f"There is no page {name}.", remedy=f"Use one of {', '.join(pages)}.")
    print(pages[name].read_text("utf-8"), end="")
    return 0
