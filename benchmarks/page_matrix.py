"""Every page as it looks: both sizes, both themes, five kinds of traces, and with none chosen.

    python -m benchmarks.page_matrix OUT [--pages kernels memory …] [--runs sample cut …] [--all]

Takes a screenshot of each page as a link opens it cold, and in two windows another one with the
first thing on it opened that has a dossier. `page_matrix.js` looks for what a machine can see:
exceptions, errors in the console, text that is cut or lies beyond the window, labels over labels,
weak contrast. The sample is looked at in all sizes and themes, the other runs in a small light and
in a large dark window; with --all in all four. OUT gets the screenshots, index.html to look through
them, and complaints.txt.
A person looks: what is beside the point, badly worded or ugly is seen by nobody else.
"""

import argparse
import gzip
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Page, sync_playwright
from playwright.sync_api import Error as BrowserError

from benchmarks.bench_pages import LARGE, make_large_runs
from profiler_core.page_specs import PageSpec, page_specs
from tests.browser import chromium
from tests.browser.conftest import HARMLESS, Server, ready, running_server, signed_in_state

ROOT = Path(__file__).resolve().parents[1]
COMPLAINTS = (Path(__file__).with_suffix(".js")).read_text()
SIZES = {1280: 800, 1920: 1080}
THEMES = ("light", "dark")
FEW = ((1280, "light"), (1920, "dark"))
_TALLEST_PX = 6000
_TIMEOUT_MS = 240_000
_LARGE_MB = 200

# What a click on opens a dossier: links in tables and texts, and boxes of our own drawings.
_OPENS = "[data-testid=stMain] a[data-item], [data-testid=stMain] [data-item]"

RUNS: dict[str, dict[str, str | list[str]]] = {
    "sample": {"baseline": "sample/bert/eager",
               "candidate": ["sample/bert/default", "sample/bert/reduce-overhead"]},
    "foreign": {"baseline": "upload/foreign/1", "candidate": ["upload/foreign/2"]},
    "large": {"baseline": f"run/{LARGE}/eager", "candidate": [f"run/{LARGE}/default"]},
    "cut": {"baseline": "upload/cut/1", "candidate": ["upload/cut/2"]},
    "job": {"baseline": "sample/ddp/eager", "candidate": ["sample/ddp/default"]},
    "nothing": {},
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One page in one window."""

    page: PageSpec
    runs: str  # a key of RUNS
    width: int
    theme: str

    @property
    def name(self) -> str:
        """Of its files, without an ending."""
        return f"{self.page.name}-{self.runs}-{self.width}-{self.theme}"


@dataclass(frozen=True)
class Shot:
    """What was seen: a file of OUT, and what is wrong there."""

    name: str
    file: str
    complaints: tuple[str, ...]


def main() -> int:
    """Look at the cells that were asked for; the status is 1 where something is complained of."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--pages", nargs="+", default=[])
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS))
    parser.add_argument("--all", action="store_true", help="every size and theme for all runs")
    parser.add_argument("--foreign", nargs=2, type=Path, metavar="TRACE", help="two traces")
    parser.add_argument("--home", type=Path, help="keep runs and cache here for the next time")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    home = (arguments.home or out / "home").resolve()
    foreign = arguments.foreign or [
        ROOT / "tests/fixtures/captures" / name / "trace.json.gz"
        for name in ("breaky.eager", "breaky.default")
    ]
    make_runs(home, foreign, large="large" in arguments.runs)
    cells = list(cells_of(arguments.pages, arguments.runs, everything=arguments.all))
    shots = []
    with running_server(home, out / "server.log") as server:
        for shot in look(server, cells, out):
            shots.append(shot)
            print(shot.name, *(f"\n    {text}" for text in shot.complaints), sep="", flush=True)
    write(shots, out)
    return int(any(shot.complaints for shot in shots))


def make_runs(home: Path, foreign: Sequence[Path], *, large: bool) -> None:
    """What `RUNS` names and the samples do not have, unless it is there."""
    for number, trace in enumerate(foreign, 1):
        _upload(home, "foreign", number, trace.read_bytes())
        plain = gzip.decompress(trace.read_bytes())
        _upload(home, "cut", number, gzip.compress(plain[: len(plain) * 3 // 5]))
    if large:
        make_large_runs(home, _LARGE_MB)


def _upload(home: Path, group: str, number: int, packed: bytes) -> None:
    folder = home / "uploads" / group / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trace.json.gz").write_bytes(packed)


def cells_of(pages: Sequence[str], runs: Sequence[str], *, everything: bool) -> Iterator[Cell]:
    """The windows to open, those of a page one after another.

    Args:
        pages: their names; empty: all.
        runs: keys of `RUNS`.
        everything: all sizes and themes for all runs, not for the sample alone.
    """
    for spec in page_specs():
        if (pages and spec.name not in pages) or spec.for_admins or spec.for_members:
            continue
        for name in runs:
            if spec.needs in ("nothing", "sweeps") and name not in ("sample", "nothing"):
                continue  # it shows the same whatever is chosen
            full = everything or name == "sample"
            sizes = [(width, theme) for width in SIZES for theme in THEMES] if full else FEW
            for width, theme in sizes:
                yield Cell(spec, name, width, theme)


@contextmanager
def watched_window(home: Path | None) -> Iterator[tuple[Page, list[str]]]:
    """A tab, and what its scripts complain of; with a home, let into the dashboard over it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.find(),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
        )
        context = browser.new_context(
            storage_state=signed_in_state(home) if home else None, reduced_motion="reduce"
        )
        context.set_default_timeout(_TIMEOUT_MS)
        page = context.new_page()
        errors: list[str] = []

        def note(message: ConsoleMessage) -> None:
            about = f"{message.text} {message.location.get('url', '')}"
            if message.type == "error" and not any(text in about for text in HARMLESS):
                errors.append(f"console: {about}")

        page.on("console", note)
        page.on("pageerror", lambda error: errors.append(f"console: {error}"))
        yield page, errors
        browser.close()


def look(server: Server, cells: Sequence[Cell], out: Path) -> Iterator[Shot]:
    """Open each cell in one browser, and once more after a click."""
    with watched_window(server.home) as (page, errors):
        for cell in cells:
            page.set_viewport_size({"width": cell.width, "height": SIZES[cell.width]})
            page.emulate_media(color_scheme="dark" if cell.theme == "dark" else "light")
            errors.clear()
            try:
                page.goto(server.link(cell.page.path, **RUNS[cell.runs]))
                ready(page)
                yield shot_of(page, cell.name, errors, out)
                with_click = (cell.width, cell.theme) in FEW
                if with_click and cell.page.has_dossier and _open_first(page):
                    yield shot_of(page, f"{cell.name}-opened", errors, out)
            except (BrowserError, AssertionError) as error:
                message = str(error).partition("\n")[0]
                page.screenshot(path=out / f"{cell.name}-failed.png")
                yield Shot(cell.name, f"{cell.name}-failed.png", (f"not ready: {message}",))


def _open_first(page: Page) -> bool:
    """Click on the first thing that has a dossier; False: there is none to be seen."""
    things = page.locator(_OPENS).locator("visible=true")
    table = page.get_by_test_id("stDataFrame").first
    if things.count():
        things.first.click(position={"x": 3, "y": 3}, timeout=20_000)
    elif table.count():
        table.scroll_into_view_if_needed()
        table.get_by_test_id("data-grid-canvas").wait_for()
        box = table.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + 60, box["y"] + 112)  # the third row
    else:
        return False
    with suppress(BrowserError):  # a table that opens nothing
        page.locator(".st-key-fs_dossier .fs-dossier").first.wait_for(timeout=20_000)
    ready(page)
    return True


def shot_of(page: Page, name: str, errors: list[str], out: Path) -> Shot:
    """Its complaints in the window as it is, then all of the page in a window as tall as it."""
    page.wait_for_timeout(400)  # figures take their width last
    if page.locator(".timeline").count():
        page.locator(".timeline[data-ready]").wait_for()
    complaints = [*page.evaluate(COMPLAINTS), *errors]
    size = page.viewport_size
    assert size is not None
    tall = page.evaluate("document.querySelector('[data-testid=stMain]')?.scrollHeight ?? 0")
    page.set_viewport_size(
        {"width": size["width"], "height": min(max(tall, size["height"]), _TALLEST_PX)}
    )
    page.wait_for_timeout(300)
    page.screenshot(path=out / f"{name}.png")
    page.set_viewport_size(size)
    return Shot(name, f"{name}.png", tuple(complaints))


def write(shots: Sequence[Shot], out: Path) -> None:
    """The sheet of all screenshots, and the list of complaints."""
    figures = "".join(
        f"<figure><figcaption>{escape(shot.name)}: {len(shot.complaints)} complaints</figcaption>"
        f'<a href="{escape(shot.file)}"><img loading=lazy src="{escape(shot.file)}"></a></figure>'
        for shot in shots
    )
    (out / "index.html").write_text(
        "<!doctype html><meta charset=utf-8><style>body{display:flex;flex-wrap:wrap}"
        f"img{{width:420px}}</style>{figures}",
        encoding="utf-8",
    )
    lines = [f"{shot.name}: {text}" for shot in shots for text in shot.complaints]
    (out / "complaints.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
