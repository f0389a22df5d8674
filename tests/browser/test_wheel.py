"""The wheel in an empty environment: `fusionscope open` serves pages and samples from it alone."""

import json
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from profiler_core.cli.main import VERBS
from tests.browser.conftest import let_the_browser_in, ready
from tests.wheel import PARTS, PIP, ROOT, build

pytestmark = pytest.mark.browser

START_TIMEOUT_S = 300.0  # on a busy two-core machine


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The `bin` folder of an environment that holds the wheel.

    Its dependencies are lent by this environment (a .pth), so that nothing is downloaded.
    """
    folder = tmp_path_factory.mktemp("wheel")
    wheel = build(folder)
    environment = folder / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    install = ["--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*PIP, *install], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    lenders = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "lent.pth").write_text("\n".join(lenders))
    return environment / "bin"


@pytest.fixture(scope="module")
def address(installed, tmp_path_factory) -> Iterator[str]:
    """Where `fusionscope open` says that the shipped comparison is."""
    folder = tmp_path_factory.mktemp("opened")
    said = folder / "said.txt"
    (packages,) = installed.parent.glob("lib/python*/site-packages")
    sample = packages / "profiler_core" / "_bundled" / "sample_traces" / "customcnn"
    let_the_browser_in(folder / "home")  # the link itself lets in only one
    with said.open("wb") as output:
        process = subprocess.Popen(
            [str(installed / "fusionscope"), "open", str(sample), "--no-browser", "--port", "0"],
            cwd=folder,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(folder),
                "FUSIONSCOPE_HOME": str(folder / "home"),
            },
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while process.poll() is None and "\n" not in said.read_text():
            assert time.monotonic() < deadline, said.read_text()
            time.sleep(0.1)
        assert said.read_text().startswith("http://localhost:"), said.read_text()
        yield said.read_text().splitlines()[0]
    finally:
        process.terminate()
        process.wait(30)


def test_everything_of_the_checkout_that_runs_is_in_it(installed):
    """A package without __init__.py, or a file of an unlisted kind, would be left out silently."""
    (packages,) = installed.parent.glob("lib/python*/site-packages")
    package = packages / "profiler_core"
    hidden = {"__pycache__", "_bundled"}
    missing = [
        path.relative_to(ROOT)
        for part in PARTS
        for path in ((ROOT / part).rglob("*") if (ROOT / part).is_dir() else [ROOT / part])
        if path.is_file()
        and not hidden & {*path.parts}
        and not _is_for_the_build_only(path)
        and not (_place_in(package, path.relative_to(ROOT))).is_file()
    ]
    assert not missing


def _place_in(package: Path, path: Path) -> Path:
    inside = path.parts[0] in ("fusionscope", package.name)
    return package.parent / path if inside else package / "_bundled" / path


def _is_for_the_build_only(path: Path) -> bool:
    names = ("setup.py", "pyproject.toml", "requirements.txt", "README.md")
    is_picture = path.is_relative_to(ROOT / "docs") and path.suffix not in (".md", ".ipynb")
    return (path.parent == ROOT and path.name in names) or is_picture


_HELP = """
import contextlib, io, json
from profiler_core.cli.main import VERBS, main

def said(verb):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        try:
            status = main([verb, "--help"])
        except SystemExit as end:
            status = end.code
    return status, text.getvalue()

print(json.dumps({verb: said(verb) for verb in VERBS}))
"""


@pytest.fixture(scope="module")
def helps(installed, tmp_path_factory) -> dict[str, tuple[int, str]]:
    """What each verb of the wheel ends with and prints; in one process, that imports them all."""
    folder = tmp_path_factory.mktemp("helps")
    ended = subprocess.run(
        [installed / "python", "-c", _HELP],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_what_it_takes(helps, verb):
    """Each module of a verb is imported from the wheel, with all that it needs."""
    status, text = helps[verb]
    assert not status
    assert text.startswith(f"usage: fusionscope {verb}")


_AGENT = """
import json, sys
import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

async def talk():
    started = StdioServerParameters(command=sys.argv[1], args=["mcp"], cwd=sys.argv[2])
    async with Client(started) as client:
        tools = (await client.list_tools()).tools
        runs = await client.call_tool("list_runs", {"contains": "customcnn"})
        pair = {"baseline": "sample/customcnn/eager", "candidates": ["sample/customcnn/default"]}
        compared = await client.call_tool("compare", pair)
        return [tool.name for tool in tools], runs.content[0].text, compared.content[0].text

names, runs, compared = anyio.run(talk)
said = json.loads(compared)["candidates"][0]
print(json.dumps([names, json.loads(runs)["n"], said["verdict"], len(compared)]))
"""


def test_an_agent_is_served_by_it(installed, tmp_path):
    """In a process of its own: Playwright's event loop runs in this one."""
    ended = subprocess.run(
        [installed / "python", "-c", _AGENT, installed / "fusionscope", tmp_path],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "FUSIONSCOPE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    names, n_runs, verdict, size = json.loads(ended.stdout)
    assert {"list_runs", "compare", "fusion_groups", "graph_breaks", "kernel"} <= set(names)
    assert "start_capture" not in names
    assert n_runs >= 1
    assert verdict
    assert size <= 16_000


_NOTEBOOK = """
import sys
import fusionscope
compared = fusionscope.compare(fusionscope.sample("resnet50"))
html = compared._repr_html_()
print(fusionscope.__file__, "fs-map" in html and "as fast as eager" in html)
print(sorted({"torch", "pandas", "streamlit"} & set(sys.modules)))
"""


def test_a_notebook_of_it_shows_a_sample(installed, tmp_path):
    """Package, command and `python -m` have one name, and none hides another."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "FUSIONSCOPE_HOME": str(tmp_path)}
    asked = [str(installed / "python"), "-c", _NOTEBOOK]
    for folder in (tmp_path, installed):  # also beside the command of that name
        ended = subprocess.run(asked, cwd=folder, env=env, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        place, *told = ended.stdout.split()
        assert place.startswith(str(installed.parent))
        assert told == ["True", "[]"]
    ended = subprocess.run(
        [installed / "python", "-m", "fusionscope", "--version"], cwd=tmp_path, env=env,
        capture_output=True, text=True,
    )  # fmt: skip
    assert ended.stdout.startswith("fusionscope ")


_TESTS = """
import torch

def test_it(fusionscope):
    fusionscope.assert_no_graph_breaks(torch.nn.Linear(2, 2), torch.ones(1, 2))

def test_fails(fusionscope):
    def broken(x):
        print(x)
        return x + 1
    fusionscope.assert_no_graph_breaks(broken, torch.ones(2))
"""


def test_the_pytest_plugin_of_it_is_found(installed, tmp_path):
    (tmp_path / "test_model.py").write_text(_TESTS)
    ended = subprocess.run(
        [installed / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_model.py"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "FUSIONSCOPE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert "1 failed, 1 passed" in ended.stdout, ended.stdout + ended.stderr
    assert "graph break" in ended.stdout


def test_it_runs_from_the_wheel_and_not_from_the_checkout(installed, tmp_path):
    code = "import profiler_core; print(profiler_core.__file__)"
    ended = subprocess.run(
        [installed / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout.startswith(str(installed.parent))
    ended = subprocess.run(
        [installed / "fusionscope", "--version"], capture_output=True, text=True, check=True
    )
    assert ended.stdout.startswith("fusionscope ")


@pytest.mark.parametrize(("name", "title"), [("", "Side by side"), ("kernels", "Kernels")])
def test_a_page_of_the_wheel_shows_a_sample_of_the_wheel(page: Page, address, name, title):
    page.goto(address.replace("/?", f"/{name}?", 1))
    ready(page)
    expect(page.get_by_role("heading", name=title, exact=True).first).to_be_visible()
    expect(page.get_by_text("customcnn").first).to_be_visible()
