"""The page ranks as a visitor meets it: the shipped pair, one process, a broken rank, no HTA."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from profiler_core.errors import BadInput
from profiler_core.store import library
from tests.analysis.ranks.mesh_job import Mesh, play, write
from tests.apps import text_of

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_traces" / "ddp"
PAIR = {"baseline": "run/d/eager", "candidate": ["run/d/default"]}
NEEDED = ("run.json", "trace.json.gz", "ranks/1/run.json", "ranks/1/trace.json.gz")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def lived_in(folder, cache):
    """A home with the sample as a capture of this user, with no more than this page reads."""
    (folder / "cache").symlink_to(cache)
    for variant in ("eager", "default"):
        for name in NEEDED:
            target = folder / "runs" / "d" / variant / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SAMPLE / variant / name, target)
    return folder


def entered(folder, monkeypatch):
    """The home is this user's until the test ends; no page remembers another."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(folder))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: folder / "samples")
    st.cache_resource.clear()
    return folder


@pytest.fixture
def home(tmp_path, cache, monkeypatch):
    """For tests that change its files."""
    return entered(lived_in(tmp_path, cache), monkeypatch)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory, cache):
    return lived_in(tmp_path_factory.mktemp("home"), cache)


@pytest.fixture
def unchanged_home(unchanged, monkeypatch):
    """For all others: its ranks are put together once."""
    return entered(unchanged, monkeypatch)


@pytest.fixture
def without_hta(monkeypatch):
    def ended(*_args):
        raise BadInput("The process that asks HTA ended with -9.", remedy="Ours stand.")

    monkeypatch.setattr("profiler_core.ui.ranks.hta.hta_answer", ended)


def opened(**query):
    app = AppTest.from_file(str(ROOT / "pages" / "ranks.py"), default_timeout=300)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception, app.exception
    return app


def test_the_pair_says_first_who_waits_for_whom_and_asks_hta(unchanged_home):
    text = text_of(opened(**PAIR))
    assert "Rank 0 waits for <em>rank 1</em>, in eager and default alike." in text
    assert "Rank 1 needs more than the other ranks: 11.9 ms more work, most of it GEMM" in text
    for word in ("44.3 ms", "44.1 ms", "Bus bandwidth", "219 GB/s", "214 GB/s",
                 "The step of the job", "waiting for rank 1: its work",
                 "Arrival at each collective", "HolisticTraceAnalysis 0.5.0",
                 "get_temporal_breakdown"):  # fmt: skip
        assert word in text
    assert text.index("waits for") < text.index("A step of each rank")


def test_without_hta_our_own_numbers_are_all_there(unchanged_home, without_hta):
    text = text_of(opened(**PAIR))
    assert "Rank 0 waits for" in text
    assert "219 GB/s" in text
    assert "ended with -9" in text


_FAKES = {
    # pip uninstall HolisticTraceAnalysis
    "absent": {"hta/__init__.py": "raise ModuleNotFoundError(\"No module named 'hta'\")"},
    # A version of it that can be imported, and breaks as soon as it is asked.
    "raising": {
        "hta/__init__.py": "",
        "hta/common/__init__.py": "",
        "hta/common/trace.py": "class Trace:\n    def __init__(self, **_):\n"
        "        raise RuntimeError('HTA is broken')\n",
        "hta/analyzers/__init__.py": "raise KeyError('HTA is broken')",
    },
}


@pytest.mark.parametrize("state", _FAKES)
def test_where_hta_is_not_there_or_raises_the_page_has_our_numbers(
    unchanged_home, tmp_path, monkeypatch, state
):
    for name, text in _FAKES[state].items():
        file = tmp_path / "fake" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))
    monkeypatch.setattr("profiler_core.ranks.hta.process._cache_path", lambda *_: None)
    app = opened(**PAIR)
    text = text_of(app)
    for word in ("Rank 0 waits for", "219 GB/s", "44.3 ms", "Arrival at each collective"):
        assert word in text
    said = {"absent": "No module named", "raising": "HTA is broken"}[state]
    assert said in text.replace("&#x27;", "'")
    labels = [expander.label for expander in app.expander]
    for title in (
        "Temporal breakdown", "Communication beside compute", "Kernel breakdown",
        "Idle time of streams", "Longest queue", "Bandwidth of copies", "Straggler",
    ):  # fmt: skip
        assert f"{title} · ours alone" in labels
    assert "<td>–</td>" in text  # HTA's column


@pytest.mark.parametrize("is_recorded", [True, False])
def test_one_rank_of_a_job_is_told_how_to_get_the_others(home, is_recorded):
    """Of a trace alone, whose distributedInfo says "rank 0 of 8", it "ran as one process"."""
    for variant in ("eager", "default"):
        run = home / "runs" / "d" / variant
        shutil.rmtree(run / "ranks")
        record = json.loads((run / "run.json").read_text())
        record["world_size"] = record["world_size"] if is_recorded else 1
        (run / "run.json").write_text(json.dumps(record))
    text = text_of(opened(**PAIR))
    assert "only rank 0 of 2 is here" in text
    assert "capture ddp --ranks 2" in text


@pytest.fixture
def folders(home, monkeypatch):
    """Two folders of rank traces as a torchrun job leaves them; rank 1 of the second is broken."""
    (home / "settings.toml").write_text(f"open_below = [{str(home / 'user')!r}]")
    for job, variant in (("eager", "eager"), ("compiled", "default")):
        folder = home / "user" / "traces" / job
        folder.mkdir(parents=True)
        for rank, name in enumerate(("trace.json.gz", "ranks/1/trace.json.gz")):
            shutil.copy2(SAMPLE / variant / name, folder / f"rank{rank}.json.gz")
    return home / "user" / "traces"


def open_by_path(app, first, second=""):
    box, other = app.text_input[0], app.text_input[1]
    box.set_value(str(first))
    other.set_value(str(second))
    button = next(b for b in app.button if b.label == "Open")
    app = button.click().run()
    assert not app.exception, app.exception
    return app


def test_where_nothing_waits_a_sentence_stands_for_the_empty_chart(home, without_hta):
    (home / "settings.toml").write_text(f"open_below = [{str(home / 'user')!r}]")
    mesh = Mesh(2, 1, 1)
    write(home / "user" / "even", mesh, play(mesh))
    app = opened(baseline=f"path{home / 'user' / 'even'}")
    text = text_of(app)
    assert "No rank waits: the 2 ranks are even" in text
    assert "In the step of 12.6 ms no rank waits in a collective." in text
    assert "All ranks arrive at each of them within 1 µs of each other." in text
    assert "comes last" not in text
    assert "st-key-ranks_arrivals" not in text


def test_three_ranks_without_named_groups_are_shown(home, without_hta):
    """As gloo's are, and those of torch before 2.4: it ended in an error of Streamlit."""
    (home / "settings.toml").write_text(f"open_below = [{str(home / 'user')!r}]")
    mesh, folder = Mesh(3, 1, 1), home / "user" / "plain"
    for rank, trace in write(folder, mesh, play(mesh)).items():
        trace["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": mesh.n}
        packed = gzip.compress(json.dumps(trace).encode(), 1)
        (folder / f"rank{rank}.json.gz").write_bytes(packed)
    app = opened(baseline="path/" + str(folder).strip("/"))
    assert "3 ranks" in text_of(app)
    assert "Ranks that behave alike" in text_of(app)


@pytest.mark.parametrize("as_one", [True, False])
def test_folders_of_rank_traces_open_by_their_path(folders, without_hta, as_one):
    places = (folders,) if as_one else (folders / "eager", folders / "compiled")
    app = AppTest.from_file(str(ROOT / "profiler_core" / "ui" / "entry.py"), default_timeout=300)
    app.run()
    app.switch_page("../../pages/ranks.py").run()
    app = open_by_path(app, *places)
    text = text_of(app)
    assert "Rank 0 waits for <em>rank 1</em>, in eager and compiled alike" in text
    assert "219 GB/s" in text
    assert "traces/eager" in str(app.query_params["baseline"])


def test_a_missing_or_broken_rank_of_a_folder_is_named(folders, without_hta):
    (folders / "compiled" / "rank1.json.gz").write_bytes(b"\x1f\x8bno")
    (folders / "eager" / "rank1.json.gz").unlink()
    key = "path/" + str(folders / "compiled").strip("/")
    text = text_of(opened(baseline=key))
    assert "Who waits for whom cannot be told from one rank" in text
    assert "compiled: rank 1, rank1.json.gz" in text
    assert "1 of 2 ranks can be shown; rank 1 is left out, as said above" in text
    assert "44.1 ms" in text  # what rank 0 tells stands


def test_a_broken_rank_is_a_sentence_and_the_other_stands(home, without_hta):
    (home / "runs" / "d" / "default" / "ranks" / "1" / "trace.json.gz").write_bytes(b"\x1f\x8bno")
    text = text_of(opened(**PAIR))
    assert "ranks/1/trace.json.gz" in text
    assert "cannot be told from one rank" in text
    assert "219 GB/s" in text


def test_names_from_files_are_never_html(home, without_hta):
    hostile = "<img src=x onerror=alert(1)>"
    for variant in ("eager", "default"):
        file = home / "runs" / "d" / variant / "run.json"
        file.write_text(file.read_text().replace(f'"variant": "{variant}"',
                                                 f'"variant": "{variant}{hostile}"'))  # fmt: skip
    app = opened(**PAIR)
    for element in app.get("html"):
        assert "<img" not in element.proto.body
