"""The overview of files that hold no step time: it says what there is, and leads to it."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core.analysis.wording.without_work import RECORD_IT
from profiler_core.store import library
from tests.apps import text_of
from tests.ingest.memory_snapshot.snapshots import SNAPSHOT, pickled
from tests.uploading import accept

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    return tmp_path


def overview_of(name, data, note=""):
    app = AppTest.from_file(str(ROOT / "pages" / "overview.py"), default_timeout=300)
    keys = accept({name: data}).keys
    app.query_params["baseline"] = keys[0]
    if note:
        app.session_state["fs_upload_notes"] = (note,)
        app.session_state["fs_upload_noted"] = keys
    app.run()
    assert not app.exception
    return text_of(app)


def test_a_memory_snapshot_alone_leads_to_its_page(home):
    text = overview_of("mine.pickle", pickled(SNAPSHOT))
    assert "mine: no step was timed" in text
    assert "There is a memory snapshot here" in text
    assert 'href="memory?baseline=upload' in text
    assert "Side by side" not in text


def test_counters_alone_are_to_be_opened_with_their_trace(home):
    """ "There is nothing that can be shown here" stood there, and not what the file is."""
    table = b'"ID","Kernel Name","gpu__time_duration.sum"\n"","","nsecond"\n"0","gelu","1000"\n'
    text = overview_of("counters.csv", table)
    assert "There is a table of Nsight Compute here, and no trace that can be read" in text
    assert "together with the trace of its run" in text


def test_a_trace_without_events_says_so(home):
    text = overview_of("empty.json", b'{"traceEvents": []}')
    assert "empty: no step was timed" in text
    assert text.count("The trace holds no events.") == 1
    assert RECORD_IT in text


def test_what_an_upload_left_out_is_said_where_it_opens(home):
    note = "<b>.txt is a TORCH_LOGS text, but it is unclear to which of the 2 traces"
    assert "&lt;b&gt;.txt is a TORCH_LOGS text" in overview_of("m.pickle", pickled(SNAPSHOT), note)


def test_a_trace_without_steps_has_no_step_time_in_its_headline(home):
    kernel = b'{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1000,"dur":2000,"args":{}}'
    text = overview_of("plain.json", b'{"traceEvents": [%s]}' % kernel)
    assert "plain: 2.00 ms in the trace, profiled." in text
    assert "ms per step" not in text


def test_a_bar_of_overlapping_kernels_says_beside_it_that_it_is_scaled(home):
    kernel = b'{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":%d,"ts":1000,"dur":2000,"args":{}}'
    events = b",".join(kernel % stream for stream in (7, 8))
    text = overview_of("two.json", b'{"traceEvents": [%s]}' % events)
    note = "in the bar each kind is shown at 50 % of its time"
    assert note in text
    assert text.index(note) < text.index("What these numbers leave out")
