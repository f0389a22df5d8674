"""The page ranks as a visitor meets it: the shipped pair, one process, a broken rank, no HTA."""

import shutil
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from profiler_core.errors import BadInput
from profiler_core.store import library

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_traces" / "ddp"
PAIR = {"baseline": "run/d/eager", "candidate": ["run/d/default"]}
NEEDED = ("run.json", "trace.json.gz", "ranks/1/run.json", "ranks/1/trace.json.gz")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def home(tmp_path, cache, monkeypatch):
    """The sample as a capture of this user, with no more than this page reads."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(cache)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for variant in ("eager", "default"):
        for name in NEEDED:
            target = tmp_path / "runs" / "d" / variant / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SAMPLE / variant / name, target)
    st.cache_resource.clear()
    return tmp_path


@pytest.fixture
def without_hta(monkeypatch):
    def ended(*_args):
        raise BadInput("The process that asks HTA ended with -9.", remedy="Ours stand.")

    monkeypatch.setattr("profiler_core.ui.ranks.hta.hta_answer", ended)


def opened(**query):
    app = AppTest.from_file(str(ROOT / "pages" / "ranks.py"), default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception, app.exception
    return app


def text_of(app):
    elements = (*app.get("html"), *app.markdown, *app.caption)
    return "\n".join(
        str(getattr(e, "value", None) or getattr(e.proto, "body", "")) for e in elements
    )


def test_the_pair_says_first_who_waits_for_whom_and_asks_hta(home):
    text = text_of(opened(**PAIR))
    assert "Rank 0 waits for <em>rank 1</em>, in eager and default alike" in text
    for word in ("31 % more", "44.3 ms", "44.1 ms", "Bus bandwidth", "219 GB/s", "214 GB/s",
                 "Arrival at each collective", "HolisticTraceAnalysis 0.5.0",
                 "get_temporal_breakdown"):  # fmt: skip
        assert word in text
    assert text.index("waits for") < text.index("A step of each rank")


def test_without_hta_our_own_numbers_are_all_there(home, without_hta):
    text = text_of(opened(**PAIR))
    assert "Rank 0 waits for" in text
    assert "219 GB/s" in text
    assert "ended with -9" in text


def test_a_run_of_one_process_is_told_how_to_get_ranks(home):
    shutil.rmtree(home / "runs" / "d" / "eager" / "ranks")
    shutil.rmtree(home / "runs" / "d" / "default" / "ranks")
    text = text_of(opened(**PAIR))
    assert "only rank 0 of 2 is here" in text
    assert "capture ddp --ranks 2" in text


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
