"""`docs [PAGE]`: the pages of the documentation, wherever Fusionscope is installed."""

import argparse

from profiler_core import page_specs, resources
from profiler_core.cli.table import table
from profiler_core.errors import BadInput

_DASHBOARD = "pages"  # the list is made of what the pages declare


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
        rows.append([_DASHBOARD, "The pages of the dashboard"])
        print(table(["page", "about"], rows, n_text=2))
        return 0
    name = arguments.page.removeprefix("docs/").removesuffix(".md")
    if name == _DASHBOARD:
        print(_pages_of_the_dashboard())
        return 0
    if name not in pages:
        raise BadInput(f"There is no page {name}.", remedy=f"Use one of {', '.join(pages)}.")
    print(pages[name].read_text("utf-8"), end="")
    return 0


def _pages_of_the_dashboard() -> str:
    rows = [
        [spec.name, spec.question, ", ".join(spec.address_parameters) or "-"]
        for spec in page_specs.page_specs()
    ]
    return table(["page", "answers", "its address may say"], rows, n_text=3)
