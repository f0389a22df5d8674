"""A job on CPUs: `compare`, reports, the gate and findings say of the late rank what `ranks` does.

The planted rank is told by durations of gloo's ranges alone, which plain JSON of the files says.
"""

import contextlib
import gzip
import io
import json
import re
import shutil

import pytest

from profiler_core.agents import tools
from profiler_core.answers.encoding import plain
from profiler_core.cli.main import main
from profiler_core.session.comparison import Comparison
from tests.analysis.ranks.test_critical_path import SAMPLE

N_STEPS, WORK_US, TRANSFER_US, LATE_US = 3, 20_000.0, 500.0, 8_000.0


def event(name, ts, dur, *, tid, cat):
    return {"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": tid, "ts": ts, "dur": dur}


def rank_trace(rank, *, work_us, sleep_us, wait_us):
    """Each step: sleep, operators, then an all-reduce until the other rank has come."""
    step_us = WORK_US + LATE_US + TRANSFER_US + 100
    events = []
    for number in range(N_STEPS):
        at = 1_000 + number * step_us
        name = f"ProfilerStep#{number + 2}"
        events.append(event(name, at, step_us - 1, tid=7, cat="user_annotation"))
        begin = at + 10 + sleep_us
        events.append(event("aten::addmm", begin, work_us, tid=7, cat="cpu_op"))
        begin += work_us + 5
        reduced = event(
            "gloo:all_reduce", begin, wait_us + TRANSFER_US, tid=9, cat="user_annotation"
        )
        events.append(reduced)
    about = {"backend": "gloo", "rank": rank, "world_size": 2}
    return {"schemaVersion": 1, "distributedInfo": about, "traceEvents": events}


PLANTED = {
    "more compute": ({"work_us": WORK_US + LATE_US, "sleep_us": 0}, "Rank 1's compute takes"),
    "a sleep of its host": ({"work_us": WORK_US, "sleep_us": LATE_US}, "its host is late"),
}

each_planted = pytest.mark.parametrize(
    ("runs", "cause"), PLANTED.values(), ids=PLANTED, indirect=["runs"]
)


@pytest.fixture
def runs(tmp_path, columns, monkeypatch, request):
    """Two variants of the planted job, in run directories with timed rounds of the sample."""
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    places = []
    for variant in ("eager", "default"):
        place = tmp_path / "runs" / "cpu" / variant
        for rank, folder in enumerate((place, place / "ranks" / "1")):
            folder.mkdir(parents=True)
            source = SAMPLE / variant / ("." if rank == 0 else "ranks/1") / "run.json"
            record = json.loads(source.read_text())
            record["environment"] = {"torch": "2.15.0"}
            (folder / "run.json").write_text(json.dumps(record))
            late = {"work_us": WORK_US, "sleep_us": 0, "wait_us": LATE_US}
            if rank == 1:
                late = {**request.param, "wait_us": 0.0}
            packed = gzip.compress(json.dumps(rank_trace(rank, **late)).encode())
            (folder / "trace.json.gz").write_bytes(packed)
        places.append(place)
    yield places
    shutil.rmtree(tmp_path / "runs")


def plain_wait_ms(run):
    """Per step: what rank 0's all-reduces last longer than rank 1's."""
    sums = []
    for folder in (run, run / "ranks" / "1"):
        events = json.loads(gzip.decompress((folder / "trace.json.gz").read_bytes()))["traceEvents"]
        sums.append(sum(e["dur"] for e in events if e["name"] == "gloo:all_reduce"))
    return (sums[0] - sums[1]) / N_STEPS / 1e3


def printed(*words):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        assert main([*map(str, words)]) in (0, 1)
    return text.getvalue()


@each_planted
def test_every_surface_says_what_ranks_says_of_the_late_rank(runs, cause, tmp_path):
    note = Comparison.open(runs).runs[1].alone_note
    told = re.search(r"Rank 0 waits ([\d.]+) ms of the step", note)
    assert told, note
    assert float(told[1]) == pytest.approx(plain_wait_ms(runs[1]), rel=0.05)
    assert float(told[1]) == pytest.approx(LATE_US / 1e3, rel=0.05)
    assert cause in note
    assert "is not told" not in note
    of_ranks = " ".join(printed("ranks", runs[1]).split())
    assert told[0] in of_ranks
    assert "Rank 0 waits for rank 1" in of_ranks
    printed("report", *runs, "-o", tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    (candidate,) = plain(tools.compare(*map(str, runs)))["candidates"]
    for text in (
        printed("compare", *runs),
        printed("gate", *runs, "--max-step-time", "+50%"),
        report,
        " ".join(candidate["notes"]),
    ):
        assert told[0] in " ".join(text.split())


@each_planted
def test_the_late_rank_is_a_finding(runs, cause):
    comparison = Comparison.open(runs)
    (finding,) = (f for f in comparison.pairs[0].findings if f.key == "late_rank")
    assert finding.title == "The other ranks wait for rank 1."
    assert cause in finding.evidence
    assert finding.is_bound
    step_ms = (WORK_US + LATE_US + TRANSFER_US + 99) / 1e3
    share = finding.at_stake_ns / comparison.numbers.candidates[0].step_time.candidate_ns
    assert share == pytest.approx(plain_wait_ms(runs[1]) / step_ms, rel=0.05)
    assert [f.key for f in comparison.runs[1].alone.findings].count("late_rank") == 1
