"""One run, one number: page, command line, JSON, report, tables, MCP, gate and history agree.

Each surface is asked by itself, as its users do, and nothing here knows how it comes to its answer.
"""

import contextlib
import csv
import io
import json
import re
import shutil
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core.agents import fusion, modules, special, tools
from profiler_core.answers.encoding import plain
from profiler_core.cli.main import main
from profiler_core.session.comparison import Comparison
from profiler_core.store import history, library
from profiler_core.units import format_count, format_duration
from tests.apps import opened, text_of
from tests.session.two_classes import STEP_NS, write_runs

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "tests" / "fixtures" / "captures"
SAMPLES = ROOT / "sample_traces"

CASES = {
    "two classes of steps": None,
    "CUDA graphs": (SAMPLES / "customcnn" / "eager", SAMPLES / "customcnn" / "reduce-overhead"),
    "CPU": (CAPTURES / "smallcnn_cpu.eager", CAPTURES / "smallcnn_cpu.default"),
    "job of ranks": (SAMPLES / "ddp" / "eager", SAMPLES / "ddp" / "default"),
}


@dataclass(frozen=True)
class Surfaces:
    """What each of them answers about one pair."""

    paths: tuple[Path, Path]
    json: dict
    text: str
    html: str
    tables: dict[str, list[dict[str, str]]]
    mcp: dict
    mcp_groups: list[dict]
    gate: dict
    history: list


@pytest.fixture(scope="module", params=CASES)
def case(request, tmp_path_factory, columns):
    """Both runs in a home of their own, so that the library, and with it the pages, have them."""
    home = tmp_path_factory.mktemp("home")
    (home / "cache").symlink_to(columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(home))
        patch.setattr(library, "sample_traces_directory", lambda: home / "samples")
        folder = home / "runs" / "pair"
        if CASES[request.param] is None:
            paths = write_runs(folder)
        else:
            paths = [folder / name for name in ("first", "second")]
            for source, target in zip(CASES[request.param], paths, strict=True):
                shutil.copytree(source, target)
        yield request.param, tuple(paths)


@pytest.fixture(scope="module")
def surfaces(case, tmp_path_factory):
    _, paths = case
    words = [str(path) for path in paths]
    out = tmp_path_factory.mktemp("out")

    def said(*arguments: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            assert main([*arguments]) in (0, 1, 3)
        return printed.getvalue()

    said("report", *words, "-o", str(out / "report.html"), "--tables", str(out / "tables"))
    html = (out / "report.html").read_text(encoding="utf-8")
    html = html[html.rindex("</script>", 0, html.index("<body")) if "<body" in html else 0 :]
    limits = ("--max-step-time", "+500%", "--max-kernels", "+100000", "--max-launches", "+100000")
    return Surfaces(
        paths=paths,
        json=json.loads(said("compare", *words, "--json")),
        text=said("compare", *words),
        html=unescape(re.sub(r"<[^>]+>", " ", html)),
        tables={
            path.stem: list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
            for path in (out / "tables").glob("*.csv")
        },
        mcp=plain(tools.compare(words[0], words[1]))["candidates"][0],
        mcp_groups=_all_groups(words),
        gate=json.loads(said("gate", *words, *limits, "--json")),
        history=[history.record(path) for path in paths],
    )


def _overview(surfaces: Surfaces) -> AppTest:
    baseline, candidate = (f"run/pair/{path.name}" for path in surfaces.paths)
    return opened("overview", baseline=baseline, candidate=candidate)


def _all_groups(words: list[str]) -> list[dict]:
    """Page by page, as an agent gets them."""
    rows: list[dict] = []
    while True:
        answer = plain(fusion.fusion_groups(*words, offset=len(rows), limit=50))
        rows += answer["rows"]
        if "next_offset" not in answer:
            return rows


def test_step_times(surfaces):
    (candidate,) = surfaces.json["candidates"]
    times = (surfaces.json["baseline"]["step_time_ns"], candidate["step_time_ns"])
    step = candidate["step_time"]
    assert (step["baseline_ns"], step["candidate_ns"]) == pytest.approx(times, abs=1)
    assert surfaces.mcp["step_time"] == step
    (check,) = (one for one in surfaces.gate["checks"] if one["quantity"] == "step_time")
    assert (check["baseline"], check["candidate"]) == pytest.approx(times, abs=1)
    assert [one.metrics.step_time_ns for one in surfaces.history] == pytest.approx(times, abs=1)
    measured = [row for row in surfaces.tables["measures"] if row["measure"] == "Step time"]
    assert [float(row["value"]) for row in measured] == pytest.approx(times, abs=1)
    page = text_of(_overview(surfaces))
    for time in times:
        assert format_duration(time) in surfaces.text
        assert format_duration(time) in surfaces.html
        assert format_duration(time) in page


@pytest.mark.parametrize("key", ["kernels", "launches"])
def test_counts_per_step(surfaces, key):
    pair = surfaces.json["candidates"][0][f"n_{key}"]
    assert surfaces.mcp[f"n_{key}"] == pair
    (check,) = (one for one in surfaces.gate["checks"] if one["quantity"] == key)
    assert [check["baseline"], check["candidate"]] == pair
    assert [getattr(one.metrics, f"n_{key}") for one in surfaces.history] == pair
    label = {"kernels": "Kernels", "launches": "Launches"}[key]
    rows = [row for row in surfaces.tables["measures"] if row["measure"].startswith(label)]
    if pair == [None, None]:  # the host launches nothing
        assert not rows
        return
    assert [float(row["value"]) for row in rows] == pair
    (line,) = (one for one in surfaces.text.splitlines() if one.startswith(f"{key} "))
    shown = [format_count(n) for n in pair]
    assert shown == line.split()[1:3]
    cells = rf">{label} per step</abbr></th>\s*<td>([^<]*)</td>\s*<td>([^<]*)"
    assert list(re.findall(cells, text_of(_overview(surfaces)))) == [tuple(shown)]
    assert re.search(rf"{label} per step\s+{shown[0]}\s+{shown[1]}\s", surfaces.html)


def test_times_of_fusion_groups(surfaces):
    """A group's time per step is one number everywhere, and all of them sum to the step's."""
    (candidate,) = surfaces.json["candidates"]
    groups = candidate["fusion"]["groups"]
    by_number = {row["group"]: row for row in surfaces.mcp_groups}
    rows = surfaces.tables["fusion_groups"]
    assert len(groups) == len(by_number) == len(rows)
    for number, (group, row) in enumerate(zip(groups, rows, strict=True)):
        alone = plain(fusion.fusion_group(*map(str, surfaces.paths), number))
        for side in ("baseline_ns", "candidate_ns"):
            # Whole ns of --json are apportioned so that they sum to the step exactly.
            assert group[side] == by_number[number][side]
            assert group[side] == pytest.approx(float(row[side]), abs=1)
            assert group[side] == alone[side]
    device = candidate["device_time_ns"]
    for side, name in enumerate(("baseline_ns", "candidate_ns")):
        assert sum(group[name] for group in groups) == pytest.approx(device[side], abs=1)
        assert sum(row[name] for row in by_number.values()) == pytest.approx(device[side], abs=1)
        assert sum(float(row[name]) for row in rows) == pytest.approx(device[side], abs=1)


def test_times_of_modules_and_operators(surfaces):
    """Over all profiled steps, to the ns: in --json, for agents and on the page."""
    words = [str(path) for path in surfaces.paths]
    (candidate,) = surfaces.json["candidates"]
    divided, device = candidate["divided"], candidate["device_time_ns"]
    app = opened("modules", baseline="run/pair/" + surfaces.paths[0].name,
                 candidate="run/pair/" + surfaces.paths[1].name, view="operators")  # fmt: skip
    frame = app.dataframe[0].value
    for side, name in enumerate(("baseline_ns", "candidate_ns")):
        n = divided["n_steps"][side]
        total = sum(row[name] for row in divided["operators"])
        assert total / n == pytest.approx(device[side], abs=1)
        if divided["modules"]:
            assert sum(row[name] for row in divided["modules"] if row["depth"] == 1) == total
        assert frame[f"t{side}"].sum() * 1e3 * n == pytest.approx(total, abs=1)
    rows = plain(modules.modules(*words, by="operator", limit=50))["rows"]
    assert rows == divided["operators"][: len(rows)]
    for row in divided["operators"][:3]:
        assert format_duration(row["candidate_ns"] / divided["n_steps"][1]) in surfaces.html


def test_the_biggest_group_on_page_and_report(case, surfaces):
    """The page's table and the report's show the same folded rows."""
    app = opened("fusion", baseline="run/pair/" + surfaces.paths[0].name,
                 candidate="run/pair/" + surfaces.paths[1].name)  # fmt: skip
    frame = app.dataframe[0].value
    (candidate,) = surfaces.json["candidates"]
    totals = candidate["fusion"]["baseline_ns"], candidate["fusion"]["candidate_ns"]
    for column, total in zip(("t0", "t1"), totals, strict=True):
        assert frame[column].sum() * 1e3 == pytest.approx(total, abs=len(frame))
    biggest = frame.loc[frame["delta"].abs().idxmax()]
    for column in ("t0", "t1"):
        assert format_duration(biggest[column] * 1e3) in surfaces.html
    if case[0] == "two classes of steps":
        assert "in 2 of 4 steps" in surfaces.html


def test_the_waterfall(surfaces):
    (candidate,) = surfaces.json["candidates"]
    bars = [
        (bar["class"], bar["baseline_ns"], bar["candidate_ns"]) for bar in candidate["waterfall"]
    ]
    assert [tuple(bar[key] for key in ("class", "baseline_ns", "candidate_ns"))
            for bar in surfaces.mcp["waterfall"]] == bars  # fmt: skip
    assert [
        (row["class"], int(row["baseline_ns"]), int(row["candidate_ns"]))
        for row in surfaces.tables["waterfall"]
    ] == bars
    figures = [json.loads(chart.proto.spec) for chart in _overview(surfaces).get("plotly_chart")]
    (drawn, clicked) = next(
        figure["data"]
        for figure in figures
        if [t.get("name") for t in figure["data"]][1:] == ["rows"]
    )
    before, after = (sum(bar[side] for bar in bars) for side in (1, 2))
    unit = before / drawn["x"][0]
    assert drawn["x"][-1] * unit == pytest.approx(after, rel=1e-9)
    assert sum(drawn["x"][1:-1]) * unit == pytest.approx(after - before, abs=1)
    changes = {name: candidate_ns - baseline_ns for name, baseline_ns, candidate_ns in bars}
    for (key,), change in list(zip(clicked["customdata"], drawn["x"], strict=True))[1:-1]:
        if abs(changes[key]) > 0.01 * max(before, after):
            assert change * unit == pytest.approx(changes.pop(key), abs=1)
    assert all(abs(change) <= 0.01 * max(before, after) for change in changes.values())


def test_verdict_findings_and_break_even(surfaces):
    (candidate,) = surfaces.json["candidates"]
    headline = candidate["verdict"]["headline"]
    assert surfaces.mcp["verdict"]["headline"] == headline
    assert headline in surfaces.text
    shown = text_of(_overview(surfaces))
    # The page and the report go on in other words after the claim.
    claim = re.split(r"[:,(]|\.$", headline)[0].strip()
    assert claim in re.sub(r"<[^>]+>", "", shown)
    assert claim in re.sub(r"\s+", " ", surfaces.html)
    titles = [one["title"] for one in candidate["findings"] or []]
    assert [one["title"] for one in surfaces.mcp["findings"]] == titles
    assert [row["title"] for row in surfaces.tables.get("findings", [])] == titles
    listed = plain(tools.findings(*map(str, surfaces.paths)))["findings"]
    assert [one["title"] for one in listed] == titles
    for title in titles:
        assert title in shown.replace("\\", "")
        assert title in surfaces.html
    assert surfaces.mcp["compile"] == candidate["compile"]


@pytest.mark.parametrize("case", ["job of ranks"], indirect=True)
def test_the_ranks_of_a_job(surfaces):
    """Command line, MCP and page say the same of both jobs."""
    page = text_of(
        opened("ranks", baseline="run/pair/" + surfaces.paths[0].name,
               candidate="run/pair/" + surfaces.paths[1].name)
    )  # fmt: skip
    comparison = Comparison.open(surfaces.paths)
    for run, label in zip(comparison.runs, comparison.labels, strict=True):
        job = run.job
        assert job is not None and len(job.ranks) > 1
        (of_command,) = json.loads(_printed("ranks", str(run.path), "--json"))["jobs"]
        (of_agent,) = plain(special.ranks(str(run.path)))["jobs"]
        # An agent gets the collectives waited for longest, and ranks without their steps.
        # Groups of one rank are the ranks themselves.
        brief = ("arrivals", "ranks", "alike")
        assert {**of_agent, **dict.fromkeys(brief)} == {**of_command, **dict.fromkeys(brief)}
        groups = [group for group in of_command["alike"] if len(group["ranks"]) > 1]
        assert of_agent["alike"] == groups
        assert all(arrival in of_command["arrivals"] for arrival in of_agent["arrivals"])
        by_rank = {rank["rank"]: {**rank, "steps": []} for rank in of_command["ranks"]}
        assert {rank["rank"]: rank for rank in of_agent["ranks"]} == by_rank
        text = _printed("ranks", str(run.path))
        assert of_command["headline"] in text
        in_tables = [row for row in surfaces.tables["ranks"] if row["run"] == label]
        rows = zip(job.ranks, of_command["ranks"], in_tables, strict=True)
        for row, told, in_table in rows:
            for key in ("step_ns", "compute_ns", "idle_ns", "waited_ns", "made_wait_ns"):
                assert told[key] == int(in_table[key]) == round(getattr(row, key))
            # The table of ranks comes first; others of the same ranks may follow.
            lines = text.splitlines()
            line = next(line for line in lines if line.startswith(f"rank {row.rank} "))
            for time in (row.step_ns, row.waited_ns):
                assert format_duration(time) in line
            assert format_duration(row.step_ns) in page
    pair = _printed("ranks", *map(str, surfaces.paths), "--json")
    assert [job["source"] for job in json.loads(pair)["jobs"]] == [*map(str, surfaces.paths)]
    assert len(json.loads(pair)["comparison"]) > 3


def _printed(*words: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main([*words]) == 0
    return printed.getvalue()


@pytest.mark.parametrize("case", ["two classes of steps", "CUDA graphs", "CPU"], indirect=True)
def test_runs_of_one_process_are_no_job(surfaces):
    assert [run.job for run in Comparison.open(surfaces.paths).runs] == [None, None]
    assert "ranks" not in surfaces.tables


@pytest.mark.parametrize("case", ["two classes of steps"], indirect=True)
def test_two_classes_by_hand(surfaces):
    groups = surfaces.json["candidates"][0]["fusion"]["groups"]
    for variant, side in (("eager", "baseline"), ("tuned", "candidate")):
        times: dict[str, int] = {}
        for group in groups:
            for one in group[f"{side}_ops"]:
                times[one["op"]] = times.get(one["op"], 0) + one["time_ns"]
        assert times == STEP_NS[variant]
