"""What the profiled pass does around its steps, and how it writes their trace."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from profiler_core.capture.child import passes


class Finished:
    """A profiler that has ended."""

    def export_chrome_trace(self, path):
        Path(path).write_text("plain")


def asked(monkeypatch, *, is_on):
    """torch as it stands in the process; its handler names the file itself, as 2.15 does."""
    trace = SimpleNamespace(provenance_tracking_to_timeline=is_on)
    monkeypatch.setitem(sys.modules, "torch._inductor.config", SimpleNamespace(trace=trace))

    def handler(folder, *, use_gzip):
        def write(finished):
            assert use_gzip
            written = Path(folder) / "host_7.171.pt.trace.json.gz"
            finished.export_chrome_trace(str(written))
            written.write_text(f"{written.read_text()} with stacks")

        return write

    module = SimpleNamespace(inductor_trace_handler=handler)
    monkeypatch.setitem(sys.modules, "torch._inductor.profiler", module)


def test_the_trace_lies_where_it_was_asked_for_whoever_writes_it(monkeypatch, tmp_path):
    path = tmp_path / "trace.json.gz"
    for is_on, text in ((True, "plain with stacks"), (False, "plain")):
        asked(monkeypatch, is_on=is_on)
        passes._export(Finished(), str(path))
        assert path.read_text() == text
        assert list(tmp_path.iterdir()) == [path]


def test_an_older_torch_and_a_process_without_inductor_write_it_as_ever(monkeypatch, tmp_path):
    for config in (None, SimpleNamespace(trace=SimpleNamespace())):
        monkeypatch.setitem(sys.modules, "torch._inductor.config", config)
        passes._export(Finished(), str(tmp_path / "trace.json.gz"))
        assert (tmp_path / "trace.json.gz").read_text() == "plain"


def test_no_active_step_holds_the_query_of_the_peaks(monkeypatch, tmp_path):
    """The last step's range ended 0.2 to 0.6 ms late, and the first one began with the reset."""
    torch = pytest.importorskip("torch")
    diary = []

    class Profiler(Finished):
        def __init__(self, *, on_trace_ready, **_):
            self.n, self.ready = 0, on_trace_ready

        def start(self):
            pass

        def step(self):
            diary.append("next step")
            self.n += 1
            if self.n == 4:
                self.ready(self)

        def stop(self):
            pass

    def peaks(_):
        diary.append("peaks")
        return {"peak_reserved_bytes": 7}

    monkeypatch.setattr(torch.profiler, "profile", Profiler)
    monkeypatch.setattr(passes, "reset_peaks", lambda _: diary.append("reset"))
    monkeypatch.setattr(passes, "peaks_since", peaks)
    schedule = {"wait": 1, "warmup": 1, "active": 2}
    running = passes.ProfiledPass(torch.device("cpu"), str(tmp_path / "t.json"), schedule, False)
    running.start()
    assert [running.stepped() for _ in range(4)] == [False, False, False, True]
    assert diary == ["next step", "reset", *["next step"] * 3, "peaks"]
    assert running.result()["peak_reserved_bytes"] == 7


def test_what_was_marked_in_graphs_is_written_where_this_torch_can(monkeypatch, tmp_path):
    class Asked(Finished):
        def export_chrome_trace(self, path, cuda_graph_annotations=None):
            Path(path).write_text(repr(cuda_graph_annotations))

    path = tmp_path / "trace.json.gz"
    asked(monkeypatch, is_on=False)
    marked = {4294967296007: {"name": "attention"}}
    for annotations, profiler, text in (
        (marked, Asked(), repr(marked)),
        ({}, Asked(), "None"),  # torch writes the file by another way where it is asked
        (marked, Finished(), "plain"),  # a torch that cannot write them
    ):
        module = SimpleNamespace(get_kernel_annotations=lambda kept=annotations: kept)
        monkeypatch.setitem(sys.modules, "torch.cuda.graph_annotations", module)
        passes._export(profiler, str(path))
        assert path.read_text() == text
