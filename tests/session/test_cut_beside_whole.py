"""A cut trace beside a whole one: the whole run's numbers stay per step, and are headed so.

Its 86 products per step of BERT were headed "in the trace", which held 430 (five steps).
"""

import gzip
import json
import re
from html import unescape
from pathlib import Path

import pytest

from profiler_core.analysis.rows.categories import category_rows
from profiler_core.cli.main import main
from profiler_core.report.contents import gather
from profiler_core.report.html.document import html_report
from profiler_core.report.tables import tables
from profiler_core.session.comparison import Comparison
from profiler_core.store import library
from profiler_core.units import format_bytes
from tests.apps import opened, text_of
from tests.uploading import accept

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"
N_STEPS = 5
BEFORE_DEVICE, IN_DEVICE = "before its device", "within its device"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "whole.json"
    path.write_bytes(gzip.decompress((CAPTURES / "customcnn_b1.eager/trace.json.gz").read_bytes()))
    return path


@pytest.fixture(scope="module", params=[BEFORE_DEVICE, IN_DEVICE])
def cut(request, tmp_path_factory):
    """Of its host alone, or with a part of its kernels."""
    text = gzip.decompress((CAPTURES / "breaky.eager/trace.json.gz").read_bytes()).decode()
    kernels = [place.start() for place in re.finditer('"cat": "kernel"', text)]
    end = kernels[0] if request.param == BEFORE_DEVICE else kernels[len(kernels) // 2]
    path = tmp_path_factory.mktemp("cut") / "cut.json"
    path.write_text(text[:end])
    return path


@pytest.fixture(scope="module")
def n_kernels(whole):
    """Counted in the file, of all its steps."""
    events = json.loads(whole.read_text())["traceEvents"]
    return sum(event.get("cat") == "kernel" for event in events)


@pytest.fixture(scope="module")
def made(whole):
    """(allocations, bytes) of the file's steps on the GPU."""
    events = json.loads(whole.read_text())["traceEvents"]
    steps = [
        e for e in events
        if e["name"].startswith("ProfilerStep") and e.get("cat") == "user_annotation"
    ]  # fmt: skip
    first, last = min(e["ts"] for e in steps), max(e["ts"] + e["dur"] for e in steps)
    sizes = [
        e["args"]["Bytes"] for e in events
        if e["name"] == "[memory]" and e["args"]["Device Type"] == 1 and first <= e["ts"] <= last
    ]  # fmt: skip
    grown = [size for size in sizes if size > 0]
    return len(grown), sum(grown)


@pytest.mark.parametrize("is_baseline", [True, False])
def test_numbers_of_the_whole_run_are_per_step_and_said_so(cut, whole, n_kernels, is_baseline):
    comparison = Comparison.open([cut, whole] if is_baseline else [whole, cut])
    numbers, place = comparison.pairs[0].numbers, int(is_baseline)
    assert comparison.span == numbers.span == "per step"
    assert numbers.n_kernels[place] == n_kernels / N_STEPS
    assert numbers.n_kernels[1 - place] is None
    rows = category_rows(comparison.sides)
    assert sum(row.runs[place][0] for row in rows if row.key not in ("memcpy", "memset")) == (
        n_kernels / N_STEPS
    )


def test_the_terminal_heads_them_per_step(cut, whole, n_kernels, capsys):
    assert main(["compare", str(cut), str(whole)]) == 0
    text = capsys.readouterr().out
    heads = [line for line in text.splitlines() if "whole.json" in line and "  " in line]
    assert [line.split("  ")[0] for line in heads[:2]] == ["per step", "category, per step"]
    (row,) = [line for line in text.splitlines() if line.startswith("kernels ")]
    assert row.split()[1:] == ["–", f"{n_kernels // N_STEPS}"]
    assert "in the trace  " not in text


def test_memory_beside_a_cut_trace_is_per_step(cut, whole, made, home_with_columns, monkeypatch):
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home_with_columns / "samples")
    n, size = made
    pair = Comparison.open([cut, whole]).pairs[0]
    assert pair.memory.span == "per step"
    churn = pair.candidate.memory.churn
    assert (churn.n, churn.bytes) == (n / N_STEPS, size / N_STEPS)
    (first, second) = (accept({path.name: path.read_bytes()}).keys[0] for path in (cut, whole))
    text = text_of(opened("memory", baseline=first, candidate=[second]))
    rows = {
        cells[0]: cells[1:]
        for row in re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
        if (cells := [_plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)])
    }
    assert rows["Allocations per step"] == ["–", f"{n // N_STEPS}"]
    assert [rows[name][0] for name in ("There before the step", "Made by the step")] == ["–", "–"]
    assert "in the trace" not in text.split("Along ")[0]
    assert "that one run allocates per step" in text


def test_overview_heads_kinds_per_step_and_tells_what_stands_out_as_the_terminal_does(
    cut, whole, home_with_columns, monkeypatch
):
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home_with_columns / "samples")
    (first, second) = (accept({path.name: path.read_bytes()}).keys[0] for path in (cut, whole))
    findings = Comparison.open([cut, whole]).pairs[0].findings
    assert findings
    text = text_of(opened("overview", baseline=first, candidate=[second])).replace("\\", "")
    assert "Kernels, copies and memsets per step, by what they do" in text
    assert "What stands out in whole" in text
    assert all(finding.title in unescape(text) for finding in findings[:1])
    other_way = text_of(opened("overview", baseline=second, candidate=[first]))
    assert "Kernels, copies and memsets per step, by what they do" in other_way
    assert "What stands out" not in other_way  # of a cut trace nothing does


def test_a_report_lists_no_operator_of_a_host_among_kernels(cut, whole, n_kernels):
    contents = gather(Comparison.open([cut, whole]))
    told = html_report(contents).split('id="kernels"')[1].split('id="method"')[0]
    assert "<h3>By what they do, per step</h3>" in told
    assert ">aten::" not in told
    is_left_out = "beside kernels they are not shown" in told
    assert is_left_out == (contents.sides[0].summary.device_kind == "cpu")
    of_whole = [row.sides[-1] for row in contents.kernels if row.sides[-1] is not None]
    n = {"per step": n_kernels / N_STEPS, "in the trace": n_kernels}[contents.kernels_span]
    assert sum(side.n for side in of_whole) == n
    assert not tables(contents)["kernels"]["kernel"].str.starts_with("aten::").any()


def _plain(cell):
    return unescape(re.sub(r"<[^>]*>", "", cell)).strip()


@pytest.fixture(scope="module")
def left(cut):
    """(reserved, allocated) at most of the GPU, by the [memory] events that are whole."""
    text = cut.read_text()
    events = json.loads(text[: text.rindex("\n  },") + len("\n  }")] + "]}")["traceEvents"]
    of_gpu = [
        e["args"] for e in events
        if e.get("name") == "[memory]" and e["args"]["Device Type"] == 1
    ]  # fmt: skip
    totals = ("Total Reserved", "Total Allocated")
    return tuple(max(each[total] for each in of_gpu) for total in totals)


@pytest.fixture
def shown_peaks(left):
    """As they are written: the run's own peaks are at least these."""
    return [f"≥ {format_bytes(peak, 'down')}" for peak in left]


def test_the_terminal_marks_the_peaks_of_what_is_left(cut, whole, shown_peaks, capsys):
    """`compare` had none, where `summary` and `memory` showed them as if they were of the run."""
    assert main(["compare", str(cut), str(whole)]) == 0
    compared = capsys.readouterr().out
    for name, peak in zip(("peak reserved", "peak allocated"), shown_peaks, strict=True):
        (row,) = [line for line in compared.splitlines() if line.startswith(name)]
        (before, after) = re.split("  +", row)[1:]  # and no change
        assert before == peak
        assert "≥" not in after
    assert "Peak memory" not in compared
    assert main(["summary", str(cut)]) == 0
    assert re.search("  +".join((shown_peaks[0], f"allocated {shown_peaks[1]}")), _out(capsys))
    assert main(["memory", str(cut)]) == 0
    rows = [re.split("  +", line) for line in _out(capsys).splitlines()]
    assert [row[1] for row in rows if row[0] in ("reserved", "allocated")] == shown_peaks


def test_answers_for_machines_say_which_peaks_are_of_what_is_left(cut, whole, left, capsys):
    assert main(["compare", str(whole), str(cut), "--json"]) == 0
    memory = json.loads(_out(capsys))["candidates"][0]["memory"]
    assert memory["is_least"] == [False, True]
    assert (memory["peak_reserved_bytes"][1], memory["peak_allocated_bytes"][1]) == left
    assert not memory["allocated_compares"]
    assert main(["summary", str(cut), "--json"]) == 0
    assert json.loads(_out(capsys))["memory"]["is_least"] is True
    for path in (cut, whole):
        assert main(["memory", str(path), "--json"]) == 0
        assert json.loads(_out(capsys))["peaks_are_least"] is (path == cut)


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("overview", ("Peak memory", "Peak allocated")),
        ("memory", ("Peak reserved", "Peak allocated")),
    ],
)
def test_pages_mark_them_alike(
    cut, whole, shown_peaks, home_with_columns, monkeypatch, page, names
):
    monkeypatch.setattr(library, "sample_traces_directory", lambda: home_with_columns / "samples")
    (first, second) = (accept({path.name: path.read_bytes()}).keys[0] for path in (cut, whole))
    text = text_of(opened(page, baseline=first, candidate=[second]))
    rows = {
        cells[0]: cells[1:]
        for row in re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
        if (cells := [_plain(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)])
    }
    for name, peak in zip(names, shown_peaks, strict=True):
        before, after = (cell.replace("\u00a0", " ") for cell in rows[name])
        assert before == peak
        assert re.fullmatch(r"[\d.]+ MB", after)  # and no change


def test_a_report_marks_them_too(cut, whole, shown_peaks):
    told = html_report(gather(Comparison.open([cut, whole]))).replace("\u00a0", " ")
    assert all(f">{peak}<" in told for peak in shown_peaks)
    rows = tables(gather(Comparison.open([cut, whole])))["measures"]
    marked = rows.filter(rows["at_least"])
    assert set(marked["measure"]) == {"Peak memory", "Peak allocated"}
    assert set(marked["run"]) == {"cut.json"}


def test_a_report_counts_no_steps_of_what_is_left(cut, whole):
    """Five steps were said to be there, as many as the whole trace beside it has."""
    told = html_report(gather(Comparison.open([cut, whole])))
    row = told.split(">Timed<")[1].split("</tr>")[0]
    assert [_plain(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)] == [
        "what is left of a cut trace",
        f"{N_STEPS} profiled steps",
    ]


def _out(capsys):
    return capsys.readouterr().out
