"""A pair of bare traces that mark no steps: every amount is of the whole trace, and said so.

Findings, the terminal, reports, dossiers and pages said "per step" of it, a note what that meant.
"""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest

from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.measures import measures, step_bars_of
from profiler_core.analysis.rows.findings import finding_rows
from profiler_core.analysis.rows.modules import how_divided
from profiler_core.analysis.wording.findings import together_text
from profiler_core.analysis.wording.first_lines import fusion_line, kernels_line
from profiler_core.analysis.wording.memory import bound, through
from profiler_core.cli.main import main
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.session.search import search_index
from profiler_core.ui.dossier.draw import dossier_html
from profiler_core.units import format_duration
from tests.analysis.ledger.pairs import FIXTURES
from tests.apps import opened, text_of

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
VARIANTS = ("eager", "default")
MARK = "ProfilerStep"

# A step that such a trace is said to have, or to be: not those of a run that was timed.
OF_A_STEP = re.compile(
    r"(?i)(?:\b(?:of|by|before|in|along) (?:the|a) steps?\b|the step's|step time)"
)


def without_steps(trace):
    document = json.loads(gzip.decompress(trace.read_bytes()))
    events = document["traceEvents"]
    kept = [event for event in events if not str(event.get("name", "")).startswith(MARK)]
    assert len(kept) < len(events)
    return {**document, "traceEvents": kept}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The traces of a sample without their marks, and without any other file."""
    folder = tmp_path_factory.mktemp("no-steps")
    paths = []
    for variant in VARIANTS:
        trace = SAMPLES / "simplecnn-training" / variant / "trace.json.gz"
        paths.append(folder / f"{variant}.json")
        paths[-1].write_text(json.dumps(without_steps(trace)))
    return paths


@pytest.fixture(scope="module")
def compared(bare):
    return Comparison.open(bare)


def kernels_of(path):
    events = json.loads(path.read_text())["traceEvents"]
    return [event for event in events if event.get("cat") == "kernel"]


def test_kernels_are_those_of_the_whole_trace(bare, compared):
    rows, span = compared.kernels_told((0, 1))
    n = [len(kernels_of(path)) for path in bare]
    assert span == "in the trace"
    assert [sum(row.n(run) for row in rows) for run in (0, 1)] == n
    line = kernels_line(compared.labels, rows, span=span).replace(",", "")
    first, second = (f"{count:,}".replace(",", " ") for count in n)
    assert line.replace("\u202f", " ").startswith(f"{first} → {second} kernels in the trace from")


def test_no_finding_says_per_step(compared):
    findings = [*(compared.pairs[0].findings or ()), *(compared.baseline.alone.findings or ())]
    assert findings, "the sample has some"
    for finding in findings:
        told = [finding, *finding.alternatives]
        assert {each.span for each in told} == {"in the trace"}
        assert not any("per step" in text for f in told for text in (f.title, f.evidence))
    for row in finding_rows(findings):
        assert row.unit != "per step"
        assert "per step" not in row.evidence
    assert "per step" not in together_text(findings)


def test_no_first_line_measure_or_note_says_per_step(compared):
    pair = compared.pairs[0]
    line = fusion_line(pair.labels, fold(pair.ledger.groups), pair.time_word, pair.ledger.span)
    assert " in the trace of " in line
    texts = [line, *pair.notes, *pair.ledger.notes]
    texts += [text for row in measures(compared.numbers) for text in (row.label, row.definition)]
    texts = [text for text in texts if not text.startswith("Compile time, with autotuning")]
    assert [text for text in texts if "per step" in text] == []


def test_no_finding_measure_bar_or_note_speaks_of_a_step(compared):
    pair = compared.pairs[0]
    findings = [*(pair.findings or ()), *(compared.baseline.alone.findings or ())]
    texts = [text for finding in findings for text in (finding.title, finding.evidence)]
    rows = measures(compared.numbers)
    texts += [text for row in rows for text in (row.label, row.definition)]
    texts += [row.label for row in pair.waterfall.rows] + [*pair.notes, *pair.waterfall.notes]
    assert [text for text in texts if OF_A_STEP.search(text)] == []
    assert rows[0].label == "Whole trace, profiled"
    assert rows[0].values == tuple(run.summary.window_ns for run in (pair.baseline, pair.candidate))
    assert "idle: end of the trace" in [row.label for row in pair.waterfall.rows]


def test_modules_and_memory_speak_of_the_trace(compared):
    for of_modules in (True, False):
        assert "add up to the trace's." in how_divided(
            compared.pairs[0].ledger.span, of_modules=of_modules, is_pair=True
        )
    memory = compared.pairs[0].memory
    texts = [*bound(memory, compared.labels), through(memory)]
    assert [text for text in texts if OF_A_STEP.search(text)] == []
    assert "was there before the trace" in texts[0] and "made in the trace." in texts[0]


@pytest.mark.parametrize("alone", [True, False])
def test_no_dossier_says_per_step(bare, alone):
    comparison = Comparison.open(bare[1:] if alone else bare)
    items = [entry.item for entry in search_index(comparison).entries]
    assert {"kernel", "operator"} <= {item.kind for item in items}
    for item in items:
        text = re.sub(r"<[^>]+>", " ", str(dossier_html(dossier(comparison, item))))
        assert "per step" not in text, (item, text)


def test_the_terminal_and_reports_say_in_the_trace(bare, tmp_path, capsys):
    eager, compiled = map(str, bare)
    assert main(["summary", compiled]) == 0
    assert main(["compare", eager, compiled]) == 0
    assert main(["memory", compiled]) == 0
    text = capsys.readouterr().out
    assert "per step" not in text
    assert "at stake in the trace" in text and "category, in the trace" in text
    assert "whole trace, profiled" in text and "there before the trace" in text
    assert "idle: end of the trace" in text and re.search("(?m)^end of the trace", text)
    assert OF_A_STEP.search(text.replace("energy of a step", "")) is None
    for name in ("report.html", "report.md"):
        assert main(["report", eager, compiled, "--output", str(tmp_path / name)]) == 0
        text = re.sub(r"<[^>]+>", " ", (tmp_path / name).read_text())
        about_it = text.replace("time saved per step", "")  # the definition of break-even
        assert "per step" not in about_it
        assert "in the trace" in text and "Whole trace, profiled" in text


@pytest.mark.parametrize("page", ["overview", "kernels", "fusion", "modules", "memory"])
def test_no_page_says_per_step(bare, page, columns, tmp_path, monkeypatch):
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    for path in bare:
        folder = tmp_path / "runs" / "one" / path.stem
        folder.mkdir(parents=True)
        (folder / "trace.json").write_bytes(path.read_bytes())
    chosen = {"baseline": "run/one/eager", "candidate": "run/one/default"}
    text = text_of(opened(page, **chosen)).replace("\\", "")
    about_it = text.replace("time saved per step", "")
    assert "per step" not in about_it
    assert OF_A_STEP.findall(about_it) == []


def test_a_pair_with_steps_says_per_step():
    pair = Comparison.open([FIXTURES / "resnet50.eager", FIXTURES / "resnet50.default"]).pairs[0]
    assert pair.ledger.span == "per step"
    line = fusion_line(pair.labels, fold(pair.ledger.groups), pair.time_word, pair.ledger.span)
    assert " kernels per step of " in line


def test_beside_a_trace_with_steps_times_of_one_without_are_not_told(bare):
    """29 ms of a whole trace stood under “per step” beside what the other takes in one step."""
    marked = SAMPLES / "simplecnn-training" / "eager"
    comparison = Comparison.open([marked, bare[1]])
    items = [entry.item for entry in search_index(comparison).entries]
    made = [dossier(comparison, item) for item in items if item.kind in ("kernel", "operator")]
    assert made
    for each in made:
        _, of_bare = (
            next((time for time in each.times if time.run == run), None) for run in (0, 1)
        )
        if of_bare is not None:
            why = (of_bare.time_ns, of_bare.n, of_bare.unknown)
            assert why == (None, None, "its trace marks no steps")
        assert any("marks no steps, so what one step takes" in text for text in each.missing)


def launched_and_old(trace):
    """Device events with a launch in the trace, and those without that begin before all of them."""
    document = json.loads(gzip.decompress(trace.read_bytes()))
    events = [event for event in document["traceEvents"] if event.get("ph") == "X"]
    calls = {
        event["args"].get("correlation")
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")]
    launched = [event for event in work if event["args"]["correlation"] in calls]
    first = min(event["ts"] for event in launched)
    old = [event for event in work if event not in launched and event["ts"] < first]
    assert len(launched) + len(old) == len(work)
    return launched, old


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """The same of runs whose steps were timed: their folders, with traces without marks."""
    folder = tmp_path_factory.mktemp("timed")
    for variant in VARIANTS:
        run = shutil.copytree(SAMPLES / "bert" / variant, folder / variant)
        trace = run / "trace.json.gz"
        trace.write_bytes(gzip.compress(json.dumps(without_steps(trace)).encode(), 1))
    return [folder / variant for variant in VARIANTS]


def test_work_launched_before_the_profiler_is_in_no_number(timed):
    """It made 34.6 → 33.1 ms of what is 31.8 → 27.4 ms, and was matched as kernels that are new."""
    pair = Comparison.open(timed).pairs[0]
    ledger = pair.ledger
    for side, path in enumerate(timed):
        launched, old = launched_and_old(path / "trace.json.gz")
        assert len(old) > 100, "the sample has some"
        run = (pair.baseline, pair.candidate)[side]
        summary = run.summary
        work_ns = pytest.approx(1000 * sum(event["dur"] for event in launched), abs=len(launched))
        n_kernels = sum(event["cat"] == "kernel" for event in launched)
        assert summary.device_time_ns == work_ns
        assert (summary.n_kernels, summary.window.n_left_over) == (n_kernels, len(old))
        assert sum(total.time_ns for total in summary.kernels) <= summary.device_time_ns
        begins, ends = min(e["ts"] for e in launched), max(e["ts"] + e["dur"] for e in launched)
        assert summary.window_ns == pytest.approx(1000 * (ends - begins), rel=0.03)
        group_of = (ledger.baseline_group, ledger.candidate_group)[side]
        assert (group_of >= 0).sum() == len(launched)
        before_ns = format_duration(1000 * sum(event["dur"] for event in old))
        note = f"{len(old)} device events ({before_ns}) had been launched before the profiler began"
        assert any(note in text for text in summary.notes)
        assert not any("counted as device time" in text for text in summary.notes)


def test_what_is_busy_of_a_trace_is_no_share_of_a_timed_step(timed):
    """26.7 ms of kernels were 100 % of the 5.63 ms that a step takes, and no bar had idle time."""
    comparison = Comparison.open(timed)
    busy = next(row for row in measures(comparison.numbers) if row.label == "GPU busy").values
    _, bars = step_bars_of((comparison.numbers.baseline, *comparison.numbers.sides))
    for path, share, bar in zip(timed, busy, bars, strict=True):
        launched, _ = launched_and_old(path / "trace.json.gz")
        begins, ends = min(e["ts"] for e in launched), max(e["ts"] + e["dur"] for e in launched)
        of_trace = sum(event["dur"] for event in launched) / (ends - begins)  # on one stream
        assert share == pytest.approx(of_trace, abs=0.01)
        assert bar.idle_ns / bar.step_ns == pytest.approx(1 - share, abs=1e-6)
        assert (bar.is_whole_trace, bar.scale) == (True, 1.0)


def test_a_timed_step_is_not_divided_by_all_that_a_trace_holds(timed, capsys):
    """5.63 ms were divided into 31.7 ms of kernels, "-26.4 ms beyond the unprofiled step"."""
    pair = Comparison.open(timed).pairs[0]
    assert pair.numbers.step_time.clock == "unprofiled"
    waterfall = pair.waterfall
    assert (waterfall.clock, waterfall.span) == ("profiled", "in the trace")
    for side, path in enumerate(timed):
        events, _ = launched_and_old(path / "trace.json.gz")
        work_ns = 1000 * sum(event["dur"] for event in events)  # on one stream
        idle_ns = sum(
            (row.baseline_ns, row.candidate_ns)[side]
            for row in waterfall.rows
            if row.key.startswith("idle")
        )
        total_ns = (waterfall.baseline_ns, waterfall.candidate_ns)[side]
        assert total_ns == pytest.approx(work_ns + idle_ns, rel=0.01)
        starts, ends = zip(*((e["ts"], e["ts"] + e["dur"]) for e in events), strict=True)
        assert total_ns == pytest.approx(1000 * (max(ends) - min(starts)), rel=0.03)
    assert not any("beyond" in row.label for row in waterfall.rows)
    assert not any("took longer under the profiler" in note for note in waterfall.notes)
    for finding in pair.findings or ():
        assert finding.span == "in the trace"
        assert "unprofiled step" not in finding.evidence
    assert main(["compare", *map(str, timed)]) == 0
    text = capsys.readouterr().out
    assert re.search("energy of a step +3", text) and re.search(
        "(?m)^whole trace, profiled +33", text
    )
