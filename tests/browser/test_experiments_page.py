"""The experiments page in a real browser: *Try it* at a finding, watched, cancelled and resumed."""

import os
import re
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, Server, ready, running_server
from tests.quick_python import variables

pytestmark = [pytest.mark.browser, pytest.mark.torch, pytest.mark.timeout(1800)]

TRIED_TIMEOUT_MS = 600_000
QUICK = {"rounds": 6, "round_steps": 3, "round_seconds": 0.01, "steps": 1, "numerics": False}

# The graph breaks at the value that decides. The setting that takes the break away is not built
# before GATE can be read, so that no experiment of it ends before it is cancelled.
TINY = """
    from pathlib import Path

    import torch

    class Breaks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, x):
            x = self.first(x)
            return self.second(x * x.sum().item())

    def build():
        if torch._dynamo.config.capture_scalar_outputs:
            Path(GATE).read_text()  # of a pipe that nobody writes: for ever
        return Breaks(), (torch.randn(4, 8),)
"""


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Closed: a pipe that nobody writes. A file in its place opens it."""
    path = tmp_path_factory.mktemp("user") / "gate"
    os.mkfifo(path)
    return path


@pytest.fixture(scope="module")
def own_server(
    tmp_path_factory: pytest.TempPathFactory, quick_python: Path, gate: Path
) -> Iterator[Server]:
    """A server with a home of its own, which holds one comparison with a finding to try."""
    home = tmp_path_factory.mktemp("experiments-home")
    model = gate.with_name("tiny.py")
    model.write_text(textwrap.dedent(TINY).replace("GATE", repr(str(gate))))
    runs = home / "runs" / "breaky"
    shutil.copytree(ROOT / "sample_traces" / "breaky", runs)
    asked = {**QUICK, "device": "cpu", "workload": f"{model}:build"}
    for path in runs.glob("*/run.json"):
        record = msgspec.json.decode(path.read_bytes())
        record["spec"].update(asked)
        path.write_bytes(msgspec.json.encode(record))
    # The sample's breaks are a branch and a print, which no setting answers.
    log = runs / "default" / "torch_logs.txt"
    log.write_text(re.sub(r"if (x\.sum\(\)\.item\(\)) > 0:.*", r"y = \1", log.read_text()))
    shutil.rmtree(runs / "default" / "torch_trace")
    # By which a click may run what the runs name: a capture of this home made them.
    capture = {**asked, "variants": [path.parent.name for path in runs.glob("*/run.json")]}
    (runs / "capture.json").write_bytes(msgspec.json.encode(capture))
    log = tmp_path_factory.mktemp("experiments-server") / "log.txt"
    with running_server(home, log, **variables(quick_python)) as server:
        yield server


def test_a_finding_is_tried_cancelled_resumed_and_its_gain_stands_beside_the_prediction(
    page: Page, own_server: Server, gate: Path
) -> None:
    page.goto(own_server.link(baseline="run/breaky/eager", candidate="run/breaky/default"))
    ready(page)
    expect(page.get_by_role("button", name="Try all")).to_be_visible()
    breaks = page.locator(".st-key-fs_try_graph_breaks")
    breaks.get_by_role("button", name="Try it").click()

    page.wait_for_url(re.compile(r"/experiments\?experiment="))
    ready(page)
    state = page.locator(".fs-job-head .fs-state")
    expect(state).to_have_text("running", timeout=TRIED_TIMEOUT_MS)
    expect(page.get_by_role("heading", name="Each trial")).to_be_visible(timeout=TRIED_TIMEOUT_MS)
    table = page.locator("table.fs-sweep")
    heads = table.locator("thead th").all_inner_texts()
    row = table.locator("tbody tr").first.locator("td, th").all_inner_texts()
    cells = dict(zip(heads, row, strict=True))
    assert cells["Setting"] == "default"
    assert re.match(r"−?\d", cells["Saved"]), cells
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=TRIED_TIMEOUT_MS)
    expect(state).to_have_text("cancelled")

    gate.unlink()
    gate.touch()
    page.get_by_role("button", name="Resume").click()
    expect(state).to_have_text("finished", timeout=TRIED_TIMEOUT_MS)
    expect(table.locator("tbody tr").first).to_contain_text(cells["Step"])
    tried = table.locator("tbody tr").filter(has_text="capture_scalar_outputs=true").first
    expect(tried).to_be_visible()
    heads = table.locator("thead th").all_inner_texts()
    cells = dict(zip(heads, tried.locator("td, th").all_inner_texts(), strict=True))
    assert re.search(r"\d\u00a0(ns|µs|ms)", cells["Predicted"]), cells
    assert re.match(r"−?\d", cells["Saved"]), cells
    expect(page.get_by_role("heading", name="Take this")).to_be_visible()
    if "cannot be told" not in cells["Outcome"]:  # then noise beyond what was predicted judges none
        realised = page.locator("table", has_text="Within its interval").locator("tbody tr")
        expect(realised.first).to_contain_text("graph break")

    page.get_by_role("button", name="Delete", exact=True).click()
    page.locator("[class*=st-key-fs_try_delete_]").get_by_role("button").click()
    page.wait_for_url(re.compile(r"/experiments$"))
    expect(page.get_by_text("Deleted", exact=False).first).to_be_visible()
    listed = page.locator("[class*=st-key-fs_try_row_]")
    expect(listed).to_have_count(0)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(listed).to_have_count(1)
    of_links = """row => {
        const link = row.appendChild(document.createElement("i"));
        link.style.color = "var(--fs-accent)";
        return getComputedStyle(link).color;
    }"""
    accent = listed.evaluate(of_links)
    expect(listed.locator("button p")).to_have_css("color", accent)
    listed.get_by_role("button").click()
    page.wait_for_url(re.compile(r"experiment="))
    expect(table.locator("tbody tr").first).to_contain_text("default")
