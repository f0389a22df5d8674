"""A page's numbers are computed when its document is asked for; who may not ask starts nothing."""

import shutil
import threading
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from profiler_core.ingest.open import is_cached, open_trace
from profiler_core.page_specs import page_specs
from profiler_core.session import kept, pair, run
from profiler_core.session.cache import SHARED
from profiler_core.store import library
from profiler_core.ui import ahead
from profiler_core.ui.ahead import AHEAD, begin
from tests.apps import opened, text_of

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"
QUERY = "baseline=run/cpu/eager&candidate=run/cpu/default"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with a CPU pair and a cache of its own: what lies there is asked about."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for name in ("eager", "default"):
        shutil.copytree(CAPTURES / f"smallcnn_cpu.{name}", tmp_path / "runs" / "cpu" / name)
    SHARED.clear()
    yield tmp_path
    SHARED.clear()


@pytest.fixture
def read(home):
    """The traces of the pair, whose columns are cached."""
    traces = [home / "runs" / "cpu" / name / "trace.json.gz" for name in ("eager", "default")]
    for trace in traces:
        open_trace(trace)
    return traces


@pytest.fixture
def computed(monkeypatch):
    """(what, thread) of all that is computed."""
    names: list[tuple[str, str]] = []
    for module, name in ((run, "summarise"), (pair, "explain"), (pair, "pair_ledger")):
        real = getattr(module, name)

        def told(*arguments, _name=name, _real=real, **options):
            names.append((_name, threading.current_thread().name))
            return _real(*arguments, **options)

        monkeypatch.setattr(module, name, told)
    return names


def finished(thread: threading.Thread | None) -> None:
    assert thread is not None
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", {"summarise"}),
        ("/fusion", {"summarise", "pair_ledger"}),
        ("/kernels", {"summarise"}),
    ],
)
def test_the_script_finds_what_its_document_has_begun(read, computed, path, expected):
    finished(begin(path, QUERY))
    assert {name for name, _ in computed} == expected
    summaries = [thread for name, thread in computed if name == "summarise"]
    assert len(set(summaries)) == len(summaries) == 2  # both runs at once
    computed.clear()
    text = text_of(
        opened(path.strip("/") or "overview", baseline="run/cpu/eager", candidate="run/cpu/default")
    )
    assert not expected & {name for name, _ in computed}
    assert path != "/" or "What fusion did" in text


def test_the_runs_of_a_ledger_are_laid_out_one_after_the_other(read, monkeypatch):
    """Both at once would take twice the memory."""
    both = threading.Barrier(2)
    alone = []

    def laid_out(trace):
        try:
            both.wait(0.3)
        except threading.BrokenBarrierError:
            alone.append(trace)

    monkeypatch.setattr("profiler_core.session.ahead.host_rows", laid_out)
    finished(begin("/fusion", QUERY))
    assert len(alone) == 2


def test_what_some_process_has_kept_needs_no_file(read, computed, monkeypatch):
    finished(begin("/fusion", QUERY))
    SHARED.clear()
    computed.clear()
    monkeypatch.setattr(run.Run, "material", property(lambda _run: pytest.fail("was read")))
    finished(begin("/fusion", QUERY))
    assert computed == []
    assert any(key[0] == "kept" and key[-1] == ("ledger", 0) for key in SHARED._entries)


@pytest.mark.parametrize("path", ["/", "/fusion", "/kernels"])
def test_a_page_that_was_seen_before_reads_neither_traces_nor_logs(read, monkeypatch, path):
    chosen = {"baseline": "run/cpu/eager", "candidate": "run/cpu/default"}
    name = path.strip("/") or "overview"
    first = text_of(opened(name, **chosen))
    SHARED.clear()
    monkeypatch.setattr(run.Run, "material", property(lambda _run: pytest.fail("was read")))
    assert text_of(opened(name, **chosen)) == first


def test_the_map_of_a_ledger_waits_for_no_findings(read, monkeypatch):
    """They take as long as the ledger, and stand below it."""
    drawn_before = []
    real = pair.explain

    def explained(*arguments, **options):
        drawn_before.append(threading.current_thread().name)
        return real(*arguments, **options)

    monkeypatch.setattr(pair, "explain", explained)
    draw = "profiler_core.ui.fusion.map.draw_map"
    monkeypatch.setattr(draw, lambda *_, **__: drawn_before.append("map"))
    opened("fusion", baseline="run/cpu/eager", candidate="run/cpu/default")
    assert drawn_before[0] == "map"
    assert len(drawn_before) == 2


def test_without_runs_in_the_address_it_is_the_first_comparison(read, computed):
    finished(begin("/overview", ""))
    assert computed


def test_nothing_is_read_for_the_first_time(home, computed):
    finished(begin("/", QUERY))
    assert computed == []
    assert not is_cached(home / "runs" / "cpu" / "eager" / "trace.json.gz")


def test_nothing_is_asked_where_people_sign_in(read, computed, monkeypatch):
    monkeypatch.setattr(ahead, "is_needed", lambda: True)
    finished(begin("/", QUERY))
    assert computed == []


def test_a_link_that_leads_nowhere_is_the_page_s_to_tell(read, computed):
    finished(begin("/", "baseline=run/cpu/nonesuch"))
    finished(begin("/", "baseline=path/etc/passwd"))
    assert computed == []


@pytest.mark.parametrize("path", ["/capture", "/timeline", "/nonesuch", "/static/js/overview"])
def test_other_addresses_ask_for_nothing(read, path):
    assert begin(path, QUERY) is None


def test_no_more_than_a_few_at_once(read, monkeypatch):
    go_on = threading.Event()
    monkeypatch.setattr("profiler_core.session.ahead.make_ahead", lambda *_, **__: go_on.wait(60))
    threads = [begin("/", QUERY) for _ in range(ahead._MOST_AT_ONCE + 1)]
    assert threads.count(None) == 1
    go_on.set()
    for thread in threads:
        if thread is not None:
            thread.join(60)
    finished(begin("/", QUERY))


def test_documents_begin_it_and_other_requests_do_not(monkeypatch):
    begun = []
    monkeypatch.setattr(ahead, "begin", lambda path, query: begun.append((path, query)))
    app = Starlette(
        routes=[
            Route("/{path:path}", lambda _request: HTMLResponse("<p>"), methods=["GET", "POST"])
        ],
        middleware=[AHEAD],
    )
    client = TestClient(app)
    assert client.get(f"/fusion?{QUERY}").text == "<p>"
    assert client.post(f"/fusion?{QUERY}").text == "<p>"
    assert begun == [("/fusion", QUERY)]


def test_pages_ask_for_what_they_need():
    asked = {spec.name: spec.asks for spec in page_specs() if spec.asks}
    assert asked == {
        "overview": "numbers",
        "fusion": "ledger",
        "kernels": "numbers",
        "modules": "ledger",
    }


def test_a_failure_is_left_to_the_page(read, monkeypatch):
    def fail(*_):
        raise IndexError("list index out of range")

    monkeypatch.setattr(run, "summarise", fail)
    monkeypatch.setattr(kept, "load", lambda *_: None)
    finished(begin("/", QUERY))  # no exception in a thread, which pytest would tell
