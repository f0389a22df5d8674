"""What `page_matrix` has no runs for: pages of work, pages in a fault, a new home, a team's server.

    python -m benchmarks.page_scenes OUT [--scenes jobs review-one …] [--home HOME]

Each scene is photographed in both sizes and themes and with the complaints of `page_matrix`. The
home is made by `filled_home`, unless it is there already.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Page

from benchmarks.page_matrix import SIZES, THEMES, Shot, shot_of, watched_window, write
from profiler_core.page_specs import page_specs
from tests.browser.conftest import Server, at_rest, ready, running_server
from tests.browser.provider import running_provider, secrets_toml

Query = Mapping[str, str | list[str]]
_SWEEP = "run/20261121-181537-simplecnn-training-sweep-of-batch-size-4c5f"
_NIGHTLY = {"baseline": "run/bert-nightly-3/eager", "candidate": "run/bert-nightly-3/default"}
_PEOPLE = {
    name: {
        "email": f"{name}@example.org",
        "name": f"{name.title()} Example",
        "email_verified": True,
    }
    for name in ("ada", "vera", "eve")
}
_TEAM = """
allow_capture = true

[team]
viewers = ["vera@example.org"]
admins = ["ada@example.org"]
"""


def _nothing(_: Page) -> None: ...


def _press(name: str) -> Callable[[Page], None]:
    """A click on the first button of this name."""
    return lambda page: page.get_by_role("button", name=name).first.click()


def _unfold(text: str) -> Callable[[Page], None]:
    """A click on the first text that begins so."""
    return lambda page: page.get_by_text(text).first.click()


@dataclass(frozen=True)
class Scene:
    """A page in a state. server: filled, new or team; {…} in a query: an id of the filled home."""

    name: str
    path: str
    query: Query = field(default_factory=dict)
    server: str = "filled"
    person: str = ""  # who has signed in
    deed: Callable[[Page], None] = _nothing


def scenes() -> Iterator[Scene]:
    """All of them, those of a server one after another."""
    for job in ("finished", "failed", "sweep", "running"):
        yield Scene(f"capture-{job}", "capture", {"job": f"{{{job}}}"})
    yield Scene("capture", "capture")
    yield Scene("capture-more", "capture", deed=_unfold("More: backends"))
    yield Scene("experiments", "experiments")
    yield Scene("experiments-one", "experiments", {"experiment": "{tried}"})
    yield Scene("sweep", "sweep", {"sweep": _SWEEP})
    yield Scene("sweep-gone", "sweep", {"sweep": "gone"})
    yield Scene("runs", "runs")
    yield Scene("runs-trash", "runs", deed=_unfold("Deleted ("))
    yield Scene("runs-path", "runs", deed=_unfold("Open files of this server"))
    yield Scene("runs-server", "runs", deed=_unfold("Profile a running"))
    yield Scene("runs-mixed", "runs", deed=_unfold("Compare runs of different"))
    yield Scene("runs-trends", "runs", {"view": "Trends"})
    yield Scene("runs-trends-one", "runs", {"view": "Trends", "workload": "bert"})
    yield Scene("jobs", "jobs")
    yield Scene("review", "review", _NIGHTLY)
    yield Scene("review-one", "review", {"review": "{review}"})
    for name in ("Assign", "Add a note", "Re-measure", "Sign off"):
        word = name.partition(" ")[0].lower()
        yield Scene(f"review-{word}", "review", {"review": "{review}"}, deed=_press(name))
    yield Scene("review-gone", "review", {"review": "gone"})
    yield Scene("overview-keep", "", _NIGHTLY, deed=_press("Keep as baseline"))
    yield Scene("overview-report", "", _NIGHTLY, deed=_press("Report"))
    for spec in page_specs():
        if spec.has_dossier:
            for fault in ("broken-trace", "no-trace"):
                runs = {"baseline": f"run/{fault}/eager", "candidate": f"run/{fault}/default"}
                yield Scene(f"{spec.name}-{fault}", spec.path, runs)
    yield Scene("overview-unreadable", "", {"baseline": "upload/unreadable/2"})
    yield Scene("overview-empty-file", "", {"baseline": "upload/unreadable/1"})
    yield Scene("overview-gone", "", {"baseline": "run/gone/eager"})
    yield Scene("overview-failed", "", {"baseline": "{failed_run}"})
    for spec in page_specs():
        if not (spec.for_admins or spec.for_members):
            yield Scene(f"{spec.name}-new", spec.path, server="new")
    yield Scene("team-sign-in", "", server="team")
    yield Scene("team-refused", "", server="team", person="eve")
    for path in ("activity", "api_tokens", "runs", "capture", "review", "jobs"):
        yield Scene(f"team-{path}", path, server="team", person="ada")
    for path in ("activity", "runs", "capture", "review"):
        yield Scene(f"team-{path}-viewer", path, server="team", person="vera")


def main() -> int:
    """Photograph the scenes that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--scenes", nargs="+", default=[])
    parser.add_argument("--home", type=Path, help="filled before, or to be kept")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    home = (arguments.home or out / "filled").resolve()
    wanted = [one for one in scenes() if not arguments.scenes or one.name in arguments.scenes]
    shots = []
    for kind in ("filled", "new", "team"):
        of_kind = [one for one in wanted if one.server == kind]
        if of_kind:
            with _server(kind, home, out) as server:
                for shot in _look(server, of_kind, _ids(home) if kind == "filled" else {}, out):
                    shots.append(shot)
                    print(
                        shot.name,
                        *(f"\n    {text}" for text in shot.complaints),
                        sep="",
                        flush=True,
                    )
    write(shots, out)
    return 0


@contextmanager
def _server(kind: str, filled: Path, out: Path) -> Iterator[Server]:
    log = out / f"server-{kind}.log"
    with ExitStack() as stack:
        if kind == "filled":
            if not (filled / "ids.json").exists():
                words = [sys.executable, "-m", "benchmarks.filled_home"]
                subprocess.run(
                    words, check=True, env=os.environ | {"FUSIONSCOPE_HOME": str(filled)}
                )
            yield stack.enter_context(running_server(filled, log))
            return
        home = out / f"home-{kind}"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        more = {}
        if kind == "team":
            shutil.copytree(filled, home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("jobs"))
            (home / "settings.toml").write_text(_TEAM)
            secrets = out / "secrets.toml"
            secrets.write_text(secrets_toml(stack.enter_context(running_provider(_PEOPLE))))
            more = {"STREAMLIT_SECRETS_FILES": str(secrets)}
        yield stack.enter_context(running_server(home, log, **more))


def _ids(filled: Path) -> dict[str, str]:
    ids: dict[str, str] = json.loads((filled / "ids.json").read_text())
    return ids


def _look(server: Server, wanted: list[Scene], ids: Mapping[str, str], out: Path) -> Iterator[Shot]:
    for person in dict.fromkeys(scene.person for scene in wanted):
        with watched_window(None if wanted[0].server == "team" else server.home) as (page, errors):
            if person:
                _sign_in(page, server, person)
            for scene in (one for one in wanted if one.person == person):
                query = {
                    key: value.format(**ids) if isinstance(value, str) else value
                    for key, value in scene.query.items()
                }
                for width in SIZES:
                    for theme in THEMES:
                        page.set_viewport_size({"width": width, "height": SIZES[width]})
                        page.emulate_media(color_scheme=theme)
                        errors.clear()
                        name = f"{scene.name}-{width}-{theme}"
                        try:
                            page.goto(server.link(scene.path, **query))
                            ready(page)
                            at_rest(page)
                            scene.deed(page)
                            at_rest(page)
                            yield shot_of(page, name, errors, out)
                        except (BrowserError, AssertionError) as error:
                            page.screenshot(path=out / f"{name}-failed.png")
                            message = str(error).partition("\n")[0]
                            yield Shot(name, f"{name}-failed.png", (f"not ready: {message}",))


def _sign_in(page: Page, server: Server, person: str) -> None:
    page.goto(server.url)
    ready(page)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_placeholder("sub").fill(person)
    page.get_by_role("button", name="Authorize", exact=True).click()
    page.wait_for_url(f"{server.url}/**")
    ready(page)


if __name__ == "__main__":
    sys.exit(main())
