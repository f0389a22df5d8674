"""The timeline in a real browser: drawing, zoom, selection, links, keyboard, theme, failures."""

import gzip
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import (
    CAPTURES,
    PAGE_TIMEOUT_MS,
    Server,
    at_rest,
    capture_of,
    ready,
)

pytestmark = pytest.mark.browser

EAGER, COMPILED = "run/customcnn_b1/eager", "run/customcnn_b1/reduce-overhead"


@pytest.fixture(scope="module")
def own_server(server: Server) -> Iterator[Server]:
    """The shared dashboard, with a run on the CPU too and one whose trace is no trace."""
    with capture_of(server, "smallcnn_cpu") as cpu, capture_of(server, "broken") as broken:
        for variant in ("eager", "default"):
            shutil.copytree(CAPTURES / f"smallcnn_cpu.{variant}", cpu / variant)
        shutil.copytree(CAPTURES / "customcnn_b1", broken, dirs_exist_ok=True)
        (broken / "reduce-overhead" / "trace.json.gz").write_bytes(b"this is no trace")
        yield server


def open_timeline(page: Page, server: Server, **query: str) -> Locator:
    """Open the page cold; returns the canvas once it shows events."""
    query = {"baseline": EAGER, "candidate": COMPILED, **query}
    page.goto(server.link("timeline", **query))
    page.locator(".timeline[data-ready]").wait_for()
    ready(page)
    return page.locator(".timeline canvas")


def state(canvas: Locator, expression: str) -> Any:
    """A value of the timeline; `t` is the Timeline of static/timeline/timeline.js."""
    return canvas.evaluate(f"canvas => {{ const t = canvas.timeline; return {expression} }}")


def expect_state(canvas: Locator, expression: str) -> None:
    """Wait until this is true: what the page says reaches the canvas a moment after its run."""
    deadline = time.monotonic() + PAGE_TIMEOUT_MS / 1000
    while not state(canvas, expression):
        assert time.monotonic() < deadline, expression
        canvas.page.wait_for_timeout(50)


def middle_of_a_kernel(canvas: Locator, run: int = 0) -> tuple[float, float]:
    """Where to click to hit the longest kernel that is in view."""
    x, y = state(
        canvas,
        f"""(() => {{
            const run = t.runs[{run}], p = run.packet
            const row = t.rows.lanes.find((r) => r.run === run && r.track.kind === "stream")
            const [first, last] = p.byLane.get(row.lane)
            const x = (i) => t.x(p.startNs - run.offset_ns + p.events.ts[i] + p.events.dur[i] / 2)
            let best = -1
            for (let i = first; i < last; i++) {{
                if (x(i) < 200 || x(i) > t.width - 5) continue
                if (best < 0 || p.events.dur[i] > p.events.dur[best]) best = i
            }}
            return [x(best), row.y + row.h / 2]
        }})()""",
    )
    return x, y


def click_at(canvas: Locator, x: float, y: float, **options: Any) -> None:
    canvas.click(position={"x": x, "y": y}, **options)


@pytest.fixture(scope="class")
def canvas(page_of_class: Page, own_server: Server) -> Locator:
    """The timeline of both runs, opened cold once for the tests of a class."""
    return open_timeline(page_of_class, own_server)


class TestOneWindow:
    """One load for all: what changes the page's address comes last."""

    def test_a_cold_link_shows_both_runs_on_one_axis(self, canvas: Locator) -> None:
        assert state(canvas, "t.runs.map((r) => r.label)") == ["eager", "reduce-overhead"]
        assert state(canvas, "t.runs.map((r) => t.x(r.steps[0][1] - r.offset_ns))[0]") == state(
            canvas, "t.runs.map((r) => t.x(r.steps[0][1] - r.offset_ns))[1]"
        )
        assert state(canvas, "t.runs.every((r) => r.packet.nEvents > 50)")
        coloured = state(
            canvas,
            """new Set(t.context.getImageData(t.canvas.width * .2, t.rows.tracks[1].y + 10,
                t.canvas.width * .7, 10).data).size""",
        )
        assert coloured > 20  # kernels are drawn, not one flat colour

    def test_labels_are_whole_where_they_have_room(self, canvas: Locator) -> None:
        """`reduce-overhead` stood there as "reduce-over…" beside a word that the colour says."""
        texts = state(
            canvas,
            """(() => {
                const texts = [], write = t.context.fillText
                t.context.fillText = (text, x, y) => x < 184 && texts.push(text)
                t.draw()
                t.context.fillText = write
                t.draw()
                return texts
            })()""",
        )
        assert "reduce-overhead" in texts
        assert not [text for text in texts if "busy" in text and "…" in text]

    def test_the_keyboard_moves_zooms_and_selects(self, canvas: Locator) -> None:
        page = canvas.page
        canvas.focus()
        everything = state(canvas, "t.view[1] - t.view[0]")
        page.keyboard.press("w")
        page.keyboard.press("w")
        assert state(canvas, "t.view[1] - t.view[0]") == pytest.approx(everything * 0.49, rel=1e-6)
        start = state(canvas, "t.view[0]")
        page.keyboard.press("d")
        assert state(canvas, "t.view[0]") > start
        page.keyboard.press("ArrowLeft")
        assert state(canvas, "t.view[0]") == pytest.approx(start)
        page.keyboard.press("f")
        assert state(canvas, "t.view[1] - t.view[0]") == pytest.approx(everything)

        page.keyboard.press(".")
        first = state(canvas, "[t.selected.table, t.selected.row]")
        page.keyboard.press(".")
        assert state(canvas, "[t.selected.table, t.selected.row]") != first
        page.keyboard.press(",")
        assert state(canvas, "[t.selected.table, t.selected.row]") == first
        expect(page.locator(".fs-facts")).to_be_visible()
        expect(page.locator(".timeline .spoken")).to_contain_text("Selected:")
        page.keyboard.press("Escape")
        expect(page.locator(".fs-facts")).to_have_count(0)
        page.keyboard.press("f")

    def test_escape_closes_what_the_page_has_not_read_yet(self, canvas: Locator) -> None:
        """An event that Python heard of in the same run as of Esc was selected again by it."""
        page = canvas.page
        canvas.focus()
        page.keyboard.press(".")
        expect(page.locator(".fs-facts")).to_be_visible()
        for _ in range(3):
            for key in (".", ".", ",", "."):
                page.keyboard.press(key)
        page.keyboard.press("Escape")
        expect(page.locator(".fs-facts")).to_have_count(0)
        expect_state(canvas, "t.selected === null")

    def test_a_track_folds_at_its_label(self, canvas: Locator) -> None:
        height = state(canvas, "t.height")
        row = state(canvas, "t.rows.tracks.findIndex((r) => r.track.kind === 'thread')")
        click_at(canvas, 40, state(canvas, f"t.rows.tracks[{row}].y") + 8)
        expect_state(canvas, f"t.height < {height}")
        click_at(canvas, 40, state(canvas, f"t.rows.tracks[{row}].y") + 8)
        expect_state(canvas, f"t.height === {height}")

    def test_a_hidden_category_is_not_drawn_and_cannot_be_met(self, canvas: Locator) -> None:
        page = canvas.page
        x, y = middle_of_a_kernel(canvas)
        canvas.hover(position={"x": x, "y": y})
        tip = page.locator(".timeline .tip")
        expect(tip).to_be_visible()
        category = state(canvas, "t.tip.querySelector('div').textContent").split(" · ")[0]
        hide = page.locator(".timeline .legend").get_by_role("button", name=category, exact=True)
        hide.click()
        canvas.hover(position={"x": x, "y": y})
        expect(tip.filter(has_text=category)).to_be_hidden()
        hide.click()

    def test_a_pinned_track_stands_first_and_no_tooltip_is_left_behind(
        self, canvas: Locator
    ) -> None:
        page = canvas.page
        at_rest(page)
        rows = "t.rows.tracks.filter(r => r.run === t.runs[0]).map(r => r.place)"
        assert state(canvas, rows)[0] == 0
        y = state(canvas, "t.rows.tracks.find(r => r.place === 1).y + 8")
        canvas.click(position={"x": 184 - 8, "y": y})
        assert state(canvas, rows)[:2] == [1, 0]
        lane = state(canvas, "t.rows.lanes.find(r => r.track.kind === 'thread').y + 8")
        canvas.hover(position={"x": 500, "y": lane})
        tip = page.locator(".timeline .tip")
        expect(tip).to_be_visible()
        page.evaluate("document.dispatchEvent(new Event('scroll'))")
        expect(tip).to_be_hidden()

    def test_a_measured_span_is_a_table(self, canvas: Locator) -> None:
        page = canvas.page
        box = canvas.bounding_box()
        assert box is not None
        y = box["y"] + 150
        page.keyboard.down("Shift")
        page.mouse.move(box["x"] + 250, y)
        page.mouse.down()
        page.mouse.move(box["x"] + 700, y, steps=4)
        page.mouse.up()
        page.keyboard.up("Shift")
        expect(page.get_by_test_id("stDataFrame")).to_be_visible()
        expect(page).to_have_url(re.compile(r"span=-?\d+_\d+"))

    def test_another_step_moves_both_runs(self, canvas: Locator) -> None:
        page = canvas.page
        before = state(canvas, "t.runs.map((r) => r.offset_ns)")
        at_rest(page)
        page.get_by_role("combobox", name=re.compile("Step at whose start")).click()
        page.get_by_role("option", name="step 5").click()
        expect(page).to_have_url(re.compile("step=2"))
        ready(page)
        expect_state(canvas, "t.runs.every((r) => r.offset_ns === r.steps[2][1])")
        after = state(canvas, "t.runs.map((r) => r.offset_ns)")
        assert all(b > a for a, b in zip(before, after, strict=True))

    def test_a_search_marks_hits_and_goes_from_one_to_the_next(self, canvas: Locator) -> None:
        page = canvas.page
        box = page.get_by_role("searchbox", name=re.compile("Search events"))
        box.fill("relu")
        expect(page.locator(".find output")).to_have_text(re.compile(r"^1 of \d+$"))
        first = state(canvas, "t.selected.name + t.selected.ts_ns + t.selected.run")
        assert "relu" in first.lower()
        box.press("Enter")
        expect(page.locator(".find output")).to_have_text(re.compile(r"^2 of \d+$"))
        assert state(canvas, "t.selected.name + t.selected.ts_ns + t.selected.run") != first
        box.press("Shift+Enter")
        expect(page.locator(".find output")).to_have_text(re.compile(r"^1 of \d+$"))
        expect_state(canvas, "t.runs.some(r => r.packet && t.find.meant(r.packet)?.some(Boolean))")

    def test_the_page_hands_out_one_trace_for_perfetto(
        self, canvas: Locator, tmp_path: Path
    ) -> None:
        """The file is what `export` writes; Perfetto's engine reads such a one in tests/export."""
        page = canvas.page
        at_rest(page)
        page.get_by_role("button", name="Perfetto").click()
        with page.expect_download(timeout=300_000) as found:
            page.get_by_role("button", name="Download the merged trace").click()
        assert found.value.suggested_filename.endswith(".json.gz")
        path = tmp_path / "merged.json.gz"
        found.value.save_as(path)
        processes = [
            event["args"]["name"]
            for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
            if event["name"] == "process_name"
        ]
        assert [name.split(" · ")[0] for name in processes] == ["baseline", "candidate"]


def test_a_hit_and_a_link_scroll_to_their_event(page: Page, own_server: Server) -> None:
    """In a low window the candidate's tracks lie below those of the baseline."""
    page.set_viewport_size({"width": 1280, "height": 560})
    canvas = open_timeline(page, own_server)
    in_view = """(() => {
        const at = t.selected
        const row = at && t.rows.lanes.find((r) => r.run.number === at.run && r.lane === at.lane)
        if (!row) return false
        const top = t.canvas.getBoundingClientRect().top + row.y
        return at.run === 1 && top >= 60 && top + row.h <= innerHeight
    })()"""
    page.get_by_role("searchbox", name=re.compile("Search events")).fill("triton")
    expect_state(canvas, in_view)
    expect(page).to_have_url(re.compile("event="))
    page.goto(page.url)
    page.locator(".timeline[data-ready]").wait_for()
    expect_state(page.locator(".timeline canvas"), in_view)


def test_a_click_tells_everything_about_a_kernel_and_a_link_brings_it_back(
    page: Page, own_server: Server
) -> None:
    canvas = open_timeline(page, own_server)
    click_at(canvas, *middle_of_a_kernel(canvas))
    facts = page.locator(".fs-facts")
    expect(facts).to_contain_text("Launch delay")
    expect(facts).to_contain_text("aten::")
    expect(facts).to_contain_text("eager (baseline)")
    ready(page)
    name = page.locator(".fs-dossier-title").inner_text()
    expect(page).to_have_url(re.compile(r"event=0\.device\.\d+"))
    page.wait_for_function(
        "() => [...document.querySelectorAll('*')].some((e) => e.shadowRoot"
        "?.querySelector('canvas')?.timeline?.selected?.links.length === 1)"
    )

    page.reload()
    page.locator(".timeline[data-ready]").wait_for()
    expect(page.locator(".fs-dossier-title")).to_have_text(name)
    expect(page.locator(".fs-facts")).to_contain_text("Launch delay")


def test_zooming_is_kept_in_the_link_and_not_in_the_history(page: Page, own_server: Server) -> None:
    canvas = open_timeline(page, own_server)
    before = page.evaluate("history.length")
    x, y = middle_of_a_kernel(canvas)
    canvas.hover(position={"x": x, "y": y})
    for _ in range(6):
        page.mouse.wheel(0, -120)
    expect_state(canvas, "t.view[1] - t.view[0] < 0.4 * (t.bounds[1] - t.bounds[0])")
    at_rest(page)
    shown = state(canvas, "t.view.map(Math.round)")
    expect(page).to_have_url(re.compile(rf"window={shown[0]}_{shown[1]}\b"))
    assert page.evaluate("history.length") == before

    page.reload()
    page.locator(".timeline[data-ready]").wait_for()
    expect_state(
        page.locator(".timeline canvas"),
        f"t.view.map(Math.round).join() === '{shown[0]},{shown[1]}'",
    )


def test_the_cpu_has_a_timeline_too(page: Page, own_server: Server) -> None:
    canvas = open_timeline(
        page, own_server, baseline="run/smallcnn_cpu/eager", candidate="run/smallcnn_cpu/default"
    )
    labels = state(canvas, "t.categories.map((c) => c.label)")
    assert {"Convolution", "C++ fused by Inductor", "Compiled region"} <= set(labels)


def test_a_broken_trace_is_said_and_the_other_run_stays(page: Page, own_server: Server) -> None:
    canvas = open_timeline(
        page, own_server, baseline="run/broken/eager", candidate="run/broken/reduce-overhead"
    )
    expect(page.get_by_test_id("stMain")).to_contain_text("trace.json.gz")
    assert state(canvas, "t.runs.map((r) => r.label)") == ["eager"]


def test_dark_mode_is_dark(dark_page: Page, own_server: Server) -> None:
    canvas = open_timeline(dark_page, own_server)
    assert state(canvas, "t.dark")
    corner = state(canvas, "[...t.context.getImageData(2, t.canvas.height - 2, 1, 1).data]")
    assert max(corner[:3]) < 60


def test_a_trace_without_a_trace_file_says_so(page: Page, own_server: Server) -> None:
    with capture_of(own_server, "lonely") as lonely:
        (lonely / "eager").mkdir()
        shutil.copy(CAPTURES / "customcnn_b1" / "eager" / "run.json", lonely / "eager")
        page.goto(own_server.link("timeline", baseline="run/lonely/eager"))
        ready(page)
        expect(page.get_by_test_id("stMain")).to_contain_text("has no trace")


def test_on_a_phone_the_legend_is_no_taller_than_its_lines(page: Page, server: Server) -> None:
    """It took 420 px, with 46 px between two lines, and the timeline began below the window."""
    page.set_viewport_size({"width": 390, "height": 844})
    open_timeline(page, server)
    legend = page.locator(".timeline .legend").first
    tall = legend.evaluate("legend => legend.getBoundingClientRect().height")
    tops = legend.locator("button").evaluate_all("all => all.map((one) => one.offsetTop)")
    assert tall <= 28 * len(set(tops))


def test_the_span_that_is_shown_has_one_unit(page: Page, own_server: Server) -> None:
    """191 ms of a job were "−2 000 µs to 189 500 µs" in a wide window."""
    canvas = open_timeline(page, own_server)
    told = state(canvas, "(t.view = [-2e6, 1895e5], t.draw(), t.status.textContent)")
    assert re.fullmatch(r"−[\d.]+ ms to [\d.]+ ms · 192 ms shown", told), told
