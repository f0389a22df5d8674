"""The memory page, alone as a cold link may run it."""

import re
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core.store import library
from tests.ingest.memory_snapshot.snapshots import SNAPSHOT, pickled
from tests.uploading import accept

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
CAPTURES = ROOT / "tests" / "fixtures" / "captures"


@pytest.fixture
def home(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for variant in ("eager", "default", "reduce-overhead"):
        shutil.copytree(SAMPLES / "bert" / variant, tmp_path / "runs" / "bert" / variant)
    for variant in ("eager", "default"):
        shutil.copytree(CAPTURES / f"smallcnn_cpu.{variant}", tmp_path / "runs" / "cpu" / variant)
    return tmp_path


def opened(**query):
    app = AppTest.from_file(str(ROOT / "pages" / "memory.py"), default_timeout=300)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def said(app):
    text = " ".join(str(element.proto.body) for element in app.get("html"))
    # A number stays with its unit, and a name may break between its words.
    return text.replace("\u00a0", " ").replace("<wbr>", "")


def test_the_peak_what_bounds_it_and_what_vanished(home):
    text = said(opened(baseline="run/bert/eager", candidate=["run/bert/default"]))
    assert "default reserves 3 % less at its peak: 549 MB against 566 MB." in text
    assert (
        "The difference: 15.7 MB less allocated by the step and 1.05 MB less in use since" in text
    )
    assert "93 % of what eager has allocated" in text
    assert (
        "eager makes 204 buffers (696 MB) per step, default makes 63 buffers (346 MB): 350 MB less."
        in text
    )
    assert "12 × gelu" in text
    assert "activations.py:89" in text
    assert re.search(r"(modeling_bert\.py:\d+, ){3}…", text)  # of more than three lines the first
    assert (
        'class="fs-t fs-opened fs-buffers"' in text
    )  # its head is 7 letters wide, and stays whole


def test_no_line_of_what_vanished_ends_before_a_unit(home):
    """Beside a dossier each sum stood on two lines: 36 · 503, then MB."""
    app = opened(baseline="run/bert/eager", candidate=["run/bert/default"])
    html = " ".join(element.proto.body for element in app.get("html"))
    assert "\u00a0· 151\u00a0MB" in html
    assert "−151\u00a0MB" in html


def test_a_replay_names_its_pool_and_says_why_it_has_no_line(home):
    text = said(opened(baseline="run/bert/eager", candidate=["run/bert/reduce-overhead"]))
    assert "141 MB of what reduce-overhead reserves belong to the private pools" in text
    assert "reduce-overhead has no line. Its steps replay a CUDA graph" in text
    # In the private pool 62.9 MB lie free in one block.
    assert "Largest free block of the common one: 18.6 MB." in text
    eager, _, _ = text.partition("free, in private pools")
    assert "Largest free block: " in eager


def test_what_a_replay_never_asks_for_is_not_compared_with_what_eager_asks_for(home):
    """Allocated bytes fall by nine tenths where the rest lies in a graph's pool."""
    replayed = rows(opened(baseline="run/bert/eager", candidate=["run/bert/reduce-overhead"]))
    compiled = rows(opened(baseline="run/bert/eager", candidate=["run/bert/default"]))
    for name in ("Peak allocated", "Allocations per step", "Bytes allocated per step"):
        assert "%" not in replayed[name] and "×" not in replayed[name], name
        assert "%" in compiled[name], name
    assert "%" in replayed["Peak reserved"]


def rows(app):
    """First cell's label -> the row's text."""
    table = re.search(r'<table class="fs-t fs-opened".*?</table>', said(app), re.S)
    assert table
    cells = [re.sub(r"<[^>]+>", " ", row).split("\n") for row in table[0].split("<tr")[1:]]
    texts = [" ".join(" ".join(row).split()) for row in cells]
    names = ("Peak reserved", "Peak allocated", "Allocations per step", "Bytes allocated per step")
    return {name: text for name in names for text in texts if name in text[:60]}


def test_a_cpu_pair_says_what_it_lacks(home):
    text = said(opened(baseline="run/cpu/eager", candidate=["run/cpu/default"]))
    assert "measured on the CPU" in text
    assert "here before the step" not in text  # weights are not in the CPU's count
    assert "0 % of what" not in text
    assert "there is no memory snapshot" in text


def test_another_workload_is_named_as_such(home):
    like = said(opened(baseline="run/bert/eager", candidate=["run/bert/default"]))
    unlike = said(opened(baseline="run/bert/eager", candidate=["run/cpu/default"]))
    assert "are different workloads" not in like
    assert "are different workloads: what differs between them is not what compiling did" in unlike


def test_one_run_alone_is_enough(home):
    text = said(opened(baseline="run/bert/eager"))
    assert "eager holds 566 MB at its peak." in text
    assert "What vanished" not in text


def test_runs_without_any_word_on_memory_get_the_way_to_it(home):
    for variant in ("eager", "default"):
        run = home / "runs" / "cpu" / variant
        (run / "trace.json.gz").unlink()
    text = said(opened(baseline="run/cpu/eager", candidate=["run/cpu/default"]))
    assert "None of the chosen runs says how much memory it held" in text
    assert "eager: there is no trace, so no curve along the steps." in text


def test_snapshots_that_were_uploaded_alone_are_compared(home):
    snapshot = pickled(SNAPSHOT)
    accepted = accept({"compiled.pickle": snapshot, "eager.pickle": snapshot})
    text = said(opened(baseline=accepted.keys[0], candidate=[accepted.keys[1]]))
    assert "compiled reserves as much as eager: 4.10 kB." in text
    assert "Along the snapshot" in text
    assert "Segments and pools" in text
    assert "source line" in text


def test_a_hostile_snapshot_is_a_card_and_the_page_goes_on(home):
    (home / "runs" / "bert" / "default" / "memory_snapshot.pickle.gz").unlink()
    (home / "runs" / "bert" / "default" / "memory_snapshot.pickle").write_bytes(
        b"\x80\x04}\x8c\x08segmentscos\nsystem\n(tRs."
    )
    app = opened(baseline="run/bert/eager", candidate=["run/bert/default"])
    assert any("asks to import" in element.value for element in app.markdown)
    assert "What vanished" in said(app)


@pytest.mark.parametrize(("n_steps", "has_buttons"), [(8, True), (9, False), (60, False)])
def test_more_steps_than_fit_are_a_list(n_steps, has_buttons):
    app = AppTest.from_function(_steps, kwargs={"n_steps": n_steps}).run()
    assert not app.exception
    assert [group.key for group in app.button_group][1:] == ["memory_step"] * has_buttons
    assert [len(box.options) for box in app.selectbox] == [n_steps + 1] * (not has_buttons)
    assert app.text[0].value == "0"
    if not has_buttons:
        assert app.selectbox[0].set_value("Step 9").run().text[0].value == "8"


def _steps(n_steps):
    import streamlit

    from profiler_core.ui.memory.curve import _choose

    streamlit.text(str(_choose(n_steps, 0, "Made by the steps")[1]))


def test_names_in_its_tables_open_dossiers(home):
    text = said(opened(baseline="run/bert/eager", candidate=["run/bert/default"]))
    vanished = text.partition("fusion group</th>")[2].partition("</table>")[0]
    assert re.search(r'data-item="group:1\.\d+"[^>]*>12 × gelu<', vanished)
    live = text.partition("made for")[2]
    assert 'data-item="operator:aten::' in live


def test_sizes_that_are_gone_and_not_shown_are_summed(home):
    """Six of thirteen ended without a word. By the [memory] events 6.17 of 8.64 MB were shown."""
    for variant in ("eager", "default"):
        shutil.copytree(SAMPLES / "dynshape" / variant, home / "runs" / "dynshape" / variant)
    text = said(opened(baseline="run/dynshape/eager", candidate=["run/dynshape/default"]))
    line = re.search(r"Sizes that are gone, per step: (.*?)\.</p>", text)
    assert line is not None
    assert line[1].endswith("and 7 more (2.47 MB)")
    assert line[1].count("×") == 6
