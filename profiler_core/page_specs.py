"""Which pages the dashboard has: each page file declares itself, nothing else lists them.

A page is one file of `pages/` with `SPEC = PageSpec(…)` at its top level. The declaration is read
from the source, without running the file: a page file is a script that draws.
"""

import ast
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from profiler_core.errors import BadInput
from profiler_core.resources import pages_directory

RUN_PARAMETERS = ("baseline", "candidate")  # of every page that needs something
ITEM_PARAMETER = "item"  # of every page that shows runs: whose dossier is open
CANDIDATE_PARAMETER = "of"  # of these too: which of several candidates is told of, from 1


@dataclass(frozen=True)
class PageSpec:
    """A page, as its file declares it in literals."""

    title: str  # in the menu, above the page, and of the browser's tab
    icon: str  # ":material/…:"
    question: str  # what the page answers, in the reader's words
    section: str  # of the menu; "" stands above all headings
    order: int  # in the menu; a section stands where its first page does
    needs: Literal["nothing", "runs", "traces", "sweeps"]  # before it has anything to show
    parameters: tuple[str, ...] = ()  # of its address, beside those of the runs
    writes_headline: bool = False  # itself, a verdict say, in place of title and question
    draws_dossier: bool = False  # itself, of what it has selected, in place of the common panel
    draws_figures: bool = False  # of Plotly, wherever there is something to show
    # Of its runs, before it draws its first figure: computed while the browser starts
    # (`ui/ahead.py`). What it asks later would take the cores from the drawing.
    asks: Literal["", "numbers", "ledger"] = ""
    words: str = ""  # that its question lacks and that people search it by
    for_admins: bool = False  # of a team's server: in the menu of nobody else
    for_members: bool = False  # of a team's server, whatever their role; likewise
    is_start: bool = False  # answers at "/"
    name: str = ""  # of the file and of the address; the registry fills it in

    @property
    def path(self) -> str:
        """Where it answers, without a slash before it: "" for the start page."""
        return "" if self.is_start else self.name

    @property
    def file(self) -> Path:
        """The script that draws it."""
        return pages_directory() / f"{self.name}.py"

    @property
    def address_parameters(self) -> tuple[str, ...]:
        """All that its address may say."""
        runs = RUN_PARAMETERS if self.needs != "nothing" else ()
        shown = (CANDIDATE_PARAMETER, ITEM_PARAMETER) if self.has_dossier else ()
        return (*runs, *self.parameters, *shown)

    @property
    def has_dossier(self) -> bool:
        """Does it show runs, of whose parts a dossier can be opened beside it?"""
        return self.needs in ("runs", "traces")


def page_specs() -> tuple[PageSpec, ...]:
    """Every page that exists, in the order of the menu.

    Raises:
        BadInput: a page file declares nothing, or something else than a `PageSpec` of literals.
    """
    files = sorted(pages_directory().glob("[!_]*.py"))
    specs = sorted((_spec(file) for file in files), key=lambda spec: (spec.order, spec.name))
    sections = list(dict.fromkeys(spec.section for spec in specs))
    return tuple(sorted(specs, key=lambda spec: sections.index(spec.section)))


def page_at(path: str) -> PageSpec | None:
    """The page that answers at a path, without slashes around it; None: none does.

    Raises:
        BadInput: as `page_specs`.
    """
    return next((spec for spec in page_specs() if path in (spec.path, spec.name)), None)


def page_spec(name: str) -> PageSpec | None:
    """The page of this name; None: there is no such page."""
    file = pages_directory() / f"{name}.py"
    return _spec(file) if name.isidentifier() and file.is_file() else None


def start_page() -> PageSpec:
    """The page that answers at "/".

    Raises:
        BadInput: not exactly one page declares that it does.
    """
    starts = [spec for spec in page_specs() if spec.is_start]
    if len(starts) != 1:
        names = ", ".join(spec.name for spec in starts) or "none"
        raise BadInput(
            f"One page must be the start page; in {pages_directory()} it is {names}.",
            remedy="Write is_start=True in the SPEC of one page.",
        )
    return starts[0]


def _spec(file: Path) -> PageSpec:
    return _read(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=128)
def _read(file: Path, _changed_ns: int) -> PageSpec:
    """The declaration in a page file."""
    try:
        for node in ast.parse(file.read_text("utf-8"), str(file)).body:
            match node:
                case ast.Assign(
                    targets=[ast.Name(id="SPEC")],
                    value=ast.Call(func=ast.Name(id="PageSpec"), args=[], keywords=keywords),
                ):
                    declared = {
                        str(keyword.arg): ast.literal_eval(keyword.value) for keyword in keywords
                    }
                    return replace(PageSpec(**declared), name=file.stem)
    except (SyntaxError, TypeError, ValueError) as error:  # no Python, wrong words, no literals
        problem = f"{file} declares no page: {error}."
    else:
        problem = f"{file} declares no page."
    raise BadInput(
        problem, remedy="Write SPEC = PageSpec(title=…, …) at its top level, in literals."
    )
