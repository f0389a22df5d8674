import gzip
import json
import os
import re
import shutil
import sys
from pathlib import Path
from statistics import median

import msgspec
import pytest

from profiler_core.analysis.finding_rules.facts import Finding
from profiler_core.analysis.measures import measures
from profiler_core.analysis.waterfall import ASSUMED_PACE
from profiler_core.analysis.wording.clocks import SHARES_DIFFER
from profiler_core.cli.explained import findings_text
from profiler_core.cli.main import main
from profiler_core.session.cache import SHARED
from profiler_core.session.comparison import Comparison
from profiler_core.units import format_count, format_duration, format_share, format_share_of
from tests.builders import a_run

CAPTURES = Path(__file__).parents[1] / "fixtures" / "captures"
EAGER, GRAPH = CAPTURES / "customcnn_b1.eager", CAPTURES / "customcnn_b1.reduce-overhead"
SAMPLES = Path(__file__).parents[2] / "sample_traces"
BREAKY, DDP = SAMPLES / "breaky" / "default", SAMPLES / "ddp"

SUMMARY_KEYS = {
    "schema", "source", "n_events", "n_skipped", "steps", "window_ns", "busy_ns", "idle_ns",
    "n_kernels", "n_memcpy", "n_memset", "n_launches", "n_graph_launches", "kernel_time_ns",
    "device_time_ns", "by_category", "kernels", "idle_by_cause_ns", "launch", "memory", "device",
    "findings",
}  # fmt: skip
CANDIDATE_KEYS = {
    "step_time", "n_kernels", "n_launches", "device_time_ns", "waterfall", "fusion", "compile",
    "memory", "numerics", "environment_differs", "findings",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


def answer(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_summary_prints_tables_that_fit(capsys, monkeypatch):
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: os.terminal_size((120, 24)))
    assert main(["summary", str(EAGER)]) == 0
    text = capsys.readouterr().out
    assert "launches" in text and "convolution" in text and "NVIDIA H200" in text
    assert max(len(line) for line in text.splitlines() if "─" in line) <= 120


def test_kernels_are_listed_per_step_as_all_else_is(capsys):
    (longest, *_) = answer(capsys, "summary", str(EAGER))["kernels"]
    n_steps = len(answer(capsys, "summary", str(EAGER))["steps"])
    assert main(["summary", str(EAGER)]) == 0
    text = capsys.readouterr().out
    head = next(line for line in text.splitlines() if line.startswith("kernel "))
    assert re.split(r"  +", head)[2:4] == ["calls per step", "time per step"]
    row = next(line for line in text.splitlines() if line.startswith(longest["name"]))
    calls, time = re.split(r"  +", row)[2:4]
    assert float(calls) == longest["n"] / n_steps
    assert time == format_duration(longest["time_ns"] / n_steps)


def test_what_is_no_step_is_not_called_one(capsys, tmp_path):
    """Below "the trace is cut" stood times per step, as if whole steps were left."""
    text = gzip.decompress((EAGER / "trace.json.gz").read_bytes()).decode()
    whole = json.loads(text)["traceEvents"]
    cut, unmarked = tmp_path / "cut.json", tmp_path / "unmarked.json"
    cut.write_text(text[: text.rindex('"cat": "kernel"')])
    kept = [event for event in whole if "ProfilerStep" not in event["name"]]
    unmarked.write_text(json.dumps({"traceEvents": kept}))
    for path in (cut, unmarked):
        (longest, *_) = answer(capsys, "summary", str(path))["kernels"]
        assert main(["summary", str(path), "--top", "3"]) == 0
        text = capsys.readouterr().out.split("at stake")[0].replace("“per step” means", "")
        assert "per step" not in text and "time in the trace" in text
        row = next(line for line in text.splitlines() if line.startswith(longest["name"][:60]))
        assert re.split(r"  +", row)[2:4] == [
            format_count(longest["n"]), format_duration(longest["time_ns"]),
        ]  # fmt: skip


def test_summary_answers_the_keys_that_scripts_rely_on(capsys):
    found = answer(capsys, "summary", str(EAGER))
    assert found.keys() >= SUMMARY_KEYS
    assert found["schema"] == 1
    assert found["n_kernels"] == 115
    assert found["kernels"][0].keys() >= {
        "name", "category", "n", "time_ns", "mean_ns", "min_ns", "max_ns"
    }  # fmt: skip
    assert found["steps"][0].keys() >= {"name", "ts_ns", "dur_ns"}
    assert isinstance(found["findings"], list)


def test_a_single_run_has_findings_that_need_no_other(capsys):
    found = answer(capsys, "summary", str(BREAKY))
    by_key = {finding["key"]: finding for finding in found["findings"]}
    assert {"recompiles", "launch_bound", "graph_breaks"} <= by_key.keys()
    assert "slower" not in by_key
    launch_bound = by_key["launch_bound"]
    assert (launch_bound["lever"], launch_bound["basis"]) == ("graph_replay", "simulated")
    # Two graphs of few kernels: replays cost about what they save (reduce-overhead is slower here).
    assert (
        launch_bound["low_ns"] < launch_bound["at_stake_ns"] < 0.1 * launch_bound["high_ns"] < 9e3
    )
    assert main(["summary", str(BREAKY)]) == 0
    assert "at stake per step" in capsys.readouterr().out


def test_a_log_that_cannot_be_read_costs_only_its_findings(capsys, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(BREAKY, run)
    (run / "torch_logs.txt").write_bytes(bytes(range(256)) * 64)
    found = answer(capsys, "summary", str(run))
    assert found["n_kernels"] > 0
    assert found["findings"] is not None


def test_times_and_sizes_are_whole_numbers(capsys):
    found = answer(capsys, "compare", str(EAGER), str(GRAPH))

    def check(value, key=""):
        if isinstance(value, dict):
            for name, inner in value.items():
                check(inner, name)
        elif isinstance(value, list):
            for inner in value:
                check(inner, key)
        elif key.endswith(("_ns", "_bytes")):
            assert value is None or isinstance(value, int), key

    check(found)


def test_summary_of_a_single_trace(capsys):
    found = answer(capsys, "summary", str(EAGER / "trace.json.gz"))
    assert found["n_kernels"] == 115
    assert found["memory"]["source"] == "trace"


def test_compare_answers_the_keys_that_scripts_rely_on(capsys):
    found = answer(capsys, "compare", str(EAGER), str(GRAPH))
    (candidate,) = found["candidates"]
    assert candidate.keys() >= CANDIDATE_KEYS
    assert candidate["step_time"].keys() >= {
        "baseline_ns", "candidate_ns", "ratio", "interval", "significant", "clock"
    }  # fmt: skip
    assert candidate["n_kernels"] == [23, 17]
    assert candidate["n_launches"] == [23, 3]
    assert candidate["compile"].keys() >= {"seconds", "warm_seconds", "source", "break_even_steps"}


def test_compare_explains_the_difference_to_the_nanosecond(capsys):
    found = answer(capsys, "compare", str(EAGER), str(GRAPH))
    (candidate,) = found["candidates"]
    step, rows = candidate["step_time"], candidate["waterfall"]
    for key in ("baseline_ns", "candidate_ns"):
        assert sum(row[key] for row in rows) == step[key]
    assert {row["class"] for row in rows} >= {"gemm_conv", "pointwise", "idle_between_kernels"}
    fusion = candidate["fusion"]
    assert fusion["coverage_candidate"] == 1
    assert [fusion["baseline_ns"], fusion["candidate_ns"]] == candidate["device_time_ns"]
    assert sum(group["candidate_ns"] for group in fusion["groups"]) == fusion["candidate_ns"]
    assert candidate["findings"]
    for finding in candidate["findings"]:
        assert finding["title"] and finding["evidence"] and finding["page"]
        assert (finding["at_stake_ns"] or 0) <= step["candidate_ns"]


def test_compare_counts_the_groups_that_the_page_counts(capsys):
    (candidate,) = answer(capsys, "compare", str(EAGER), str(GRAPH))["candidates"]
    kinds = [group["kind"] for group in candidate["fusion"]["groups"]]
    assert "only in the candidate" in kinds and "unmatched" not in kinds
    assert main(["compare", str(EAGER), str(GRAPH)]) == 0
    assert f"Fusion: {len(kinds)} groups place 100 %" in capsys.readouterr().out


def test_compare_prints_the_waterfall_and_what_stands_out(capsys):
    assert main(["compare", str(EAGER), str(GRAPH)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (head,) = (i for i, line in enumerate(lines) if line.startswith("where a step goes"))
    total = next(line for line in lines[head:] if line.startswith("step, unprofiled"))
    assert total.split("  ")[-1].strip() == "−164 µs"
    assert any(line.startswith("Fusion: ") for line in lines)
    assert "at stake per step, what stands out" in lines


def test_columns_of_calls_are_called_so(capsys):
    """Heads "n eager" stood there, a word of the code."""
    assert main(["compare", str(EAGER), str(GRAPH)]) == 0
    (head,) = [line for line in capsys.readouterr().out.splitlines() if "category, per" in line]
    assert re.split(r"  +", head)[:3] == [
        "category, per step", "calls, eager", "calls, reduce-overhead",
    ]  # fmt: skip


def test_what_is_lost_once_is_said_as_on_the_page():
    """A dash stood beside seven recompilations of which the page said: 1.42 s, once."""
    once = Finding("recompiles", "7 recompilations.", "Seen.", "Do.", "", one_off_ns=1.42e9)
    every = Finding("other", "Other.", "Seen.", "Do.", "")
    (text,) = findings_text([once, every])
    assert text.splitlines()[1:3] == ["1.42 s once  7 recompilations.", "             Seen."]
    assert "          –  Other." in text.splitlines()


def test_what_cannot_be_explained_is_null_with_a_sentence(capsys, tmp_path):
    """A run without a trace beside one with; a GPU's trace beside one of the host."""
    lost = tmp_path / "lost"
    lost.mkdir()
    (lost / "run.json").write_text(json.dumps({"status": "failed", "variant": "lost"}))
    cpu = CAPTURES / "smallcnn_cpu.default"
    found = answer(capsys, "compare", str(EAGER), str(lost), str(cpu))
    without_trace, on_cpu = found["candidates"]
    for candidate in (without_trace, on_cpu):
        assert candidate["waterfall"] is None
        assert candidate["fusion"] is None
    assert without_trace["findings"] is None
    assert "No findings: lost has no trace." in without_trace["notes"]
    assert "Neither waterfall nor fusion ledger: lost has no trace." in without_trace["notes"]
    assert any("only operators on the host" in note for note in on_cpu["notes"])


def test_a_failing_ledger_costs_nothing_else(capsys, monkeypatch):
    def fail(*sides):
        raise IndexError("list index out of range")

    monkeypatch.setattr("profiler_core.analysis.explanation.fusion_ledger", fail)
    monkeypatch.setattr("profiler_core.session.kept.load", lambda *_: None)
    SHARED.clear()
    (candidate,) = answer(capsys, "compare", str(EAGER), str(GRAPH))["candidates"]
    SHARED.clear()  # nobody else shall meet the failure
    assert candidate["fusion"] is None
    assert candidate["waterfall"]
    assert candidate["findings"] is not None
    assert any("fusion ledger cannot be computed" in note for note in candidate["notes"])


def test_compare_prints_the_verdict_first(capsys):
    assert main(["compare", str(EAGER), str(GRAPH)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("A step takes 266 µs with eager and 103 µs with reduce-overhead")


def test_compare_a_folder_goes_by_role(capsys, tmp_path):
    folder = tmp_path / "capture"
    for name, role, order in (("b", "candidate", 2), ("a", "baseline", 0), ("c", "candidate", 1)):
        run = a_run(*[1_000 * (order + 1)] * 8, variant=name, role=role)
        record = msgspec.to_builtins(run.record)
        for one in record["measurement"]["rounds"]:
            one["order"] = order
        (folder / name).mkdir(parents=True)
        (folder / name / "run.json").write_text(json.dumps(record))
    found = answer(capsys, "compare", str(folder))
    assert found["baseline"]["label"] == "a"
    assert [c["label"] for c in found["candidates"]] == ["c", "b"]
    assert [c["verdict"]["kind"] for c in found["candidates"]] == ["slower", "slower"]


def test_traces_of_one_name_carry_their_folders(capsys):
    found = answer(capsys, "compare", str(EAGER / "trace.json.gz"), str(GRAPH / "trace.json.gz"))
    assert found["baseline"]["label"] == "customcnn_b1.eager"
    assert found["candidates"][0]["verdict"]["kind"] == "no_verdict"
    assert "Device time per step" in found["candidates"][0]["verdict"]["headline"]


@pytest.mark.parametrize(
    ("words", "status", "problem"),
    [
        (["summary", "/nowhere/at/all"], 2, "/nowhere/at/all does not exist."),
        (["compare", "{tmp}"], 2, "holds 1 run, and a comparison needs two."),
        (["compare", str(EAGER)], 2, "is one run, and a comparison needs two."),
        (["compare", "{tmp}/missing"], 2, "missing does not exist."),
        (["compare", str(EAGER / "run.json")], 2, "a comparison needs two."),
        (["summary", "{tmp}/lost"], 3, "has no trace (it is failed)."),
    ],
)
def test_an_error_is_a_problem_and_a_remedy(capsys, tmp_path, words, status, problem):
    lost = tmp_path / "lost"
    lost.mkdir()
    (lost / "run.json").write_text('{"status": "failed"}')
    assert main([word.replace("{tmp}", str(tmp_path)) for word in words]) == status
    lines = capsys.readouterr().err.splitlines()
    assert problem in lines[0]
    assert len(lines) == 2


def _table(text: str, head: str) -> dict[str, list[str]]:
    """Rows of the table that begins with this word, by their name."""
    (part,) = (part for part in text.split("\n\n") if part.startswith(head))
    rows = (re.split(r"  +", row.strip()) for row in part.splitlines()[2:])
    return {name: cells for name, *cells in rows}


def _ns(text: str) -> float:
    number, unit = text.split(" ")
    return float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6}[unit]


def _timed_ns(folder: Path) -> float:
    rounds = json.loads((folder / "run.json").read_text())["measurement"]["rounds"]
    return median(each["wall_ns"] / each["n_steps"] for each in rounds)


def _busy_ns(folder: Path) -> float:
    """Per step, of a trace on one stream: the durations of what its steps launched."""
    events = json.loads(gzip.decompress((folder / "trace.json.gz").read_bytes()))["traceEvents"]
    steps = [
        event for event in events
        if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep")
    ]  # fmt: skip
    begins, ends = min(e["ts"] for e in steps), max(e["ts"] + e["dur"] for e in steps)
    launched = {
        event["args"]["correlation"] for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and begins <= event["ts"] < ends
    }  # fmt: skip
    work = [
        event for event in events
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
        and event["args"]["correlation"] in launched
    ]  # fmt: skip
    assert len({event["tid"] for event in work}) == 1
    return 1000 * sum(event["dur"] for event in work) / len(steps)


def test_busy_is_of_the_timed_step_as_on_overview(capsys):
    """ "GPU busy 24 %" stood above "21 % of the step wait for the host", and Overview had 69 %."""
    runs = [SAMPLES / "resnet50-bf16" / f"{mode}+bf16-autocast+channels_last" for mode in
            ("eager", "reduce-overhead")]  # fmt: skip
    assert main(["compare", *map(str, runs)]) == 0
    compared = _table(capsys.readouterr().out, "per step")
    for side, folder in enumerate(runs):
        assert main(["summary", str(folder)]) == 0
        text = capsys.readouterr().out
        step = _table(text, "per step")
        step_ns = _timed_ns(folder)
        busy_ns = min(_busy_ns(folder), step_ns)
        assert next(iter(step)) == "step time (unprofiled)"
        assert _ns(step["step time (unprofiled)"][0]) == pytest.approx(step_ns, rel=0.01)
        assert step["GPU busy"] == [format_duration(busy_ns), format_share_of(busy_ns, step_ns)]
        assert step["GPU idle"][0] == format_duration(step_ns - busy_ns)
        for word in ("busy", "idle"):
            assert compared[word][side] == step[f"GPU {word}"][0]
        share = next(
            row for row in measures(Comparison.open([folder]).numbers) if row.label == "GPU busy"
        ).values[0]
        assert step["GPU busy"][1] == format_share(share)
        assert SHARES_DIFFER in text
        if side == 0:
            assert ASSUMED_PACE in text
            causes = _table(text, "idle because of")
            idle_ns = sum(_ns(cells[0]) for cells in causes.values())
            assert idle_ns == pytest.approx(step_ns - busy_ns, rel=0.01)
        told = answer(capsys, "summary", str(folder))
        divided = told["divided_step"]
        assert told["step_time_ns"] == divided["step_ns"] == round(step_ns)
        assert divided["busy_ns"] == pytest.approx(busy_ns, abs=10)
        assert (divided["clock"], divided["waiting_ns"]) == ("unprofiled", 0)


def test_what_clears_memory_is_not_called_a_memset_where_kernels_do_it(capsys):
    """ "memset 7 → 5, −29 %" stood above "memset 7 → 7, +4 %"; two of these are kernels."""
    runs = [SAMPLES / "resnet50-bf16" / f"{mode}+bf16-autocast+channels_last" for mode in
            ("eager", "reduce-overhead")]  # fmt: skip
    n_memsets, n_clearing = [], []
    for folder in runs:
        text = gzip.decompress((folder / "trace.json.gz").read_bytes())
        events = json.loads(text)["traceEvents"]
        calls = [e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")]
        steps = [e for e in events if e["name"].startswith("ProfilerStep")
                 and e["cat"] == "user_annotation"]  # fmt: skip
        last = max(steps, key=lambda step: step["ts"])
        ends = last["ts"] + last["dur"]
        launched = {e["args"]["correlation"] for e in calls if last["ts"] <= e["ts"] < ends}
        work = [e for e in events if e.get("cat") in ("kernel", "gpu_memset")
                and e["args"]["correlation"] in launched]  # fmt: skip
        n_memsets.append(sum(e["cat"] == "gpu_memset" for e in work))
        n_clearing.append(sum("memset" in e["name"].lower() for e in work))
    assert (n_memsets, n_clearing) == ([7, 5], [7, 7])
    assert main(["compare", *map(str, runs)]) == 0
    text = capsys.readouterr().out
    assert _table(text, "per step")["memset"][:2] == [str(n) for n in n_memsets]
    kinds = _table(text, "category, per step")
    assert kinds["clearing memory"][:2] == [str(n) for n in n_clearing]
    assert not [kind for kind in kinds if "memset" in kind]
    glossary = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text()
    assert "| clearing memory | the category of memsets and of the kernels" in glossary


def test_a_bare_trace_has_its_profiled_step_alone(capsys):
    assert main(["summary", str(EAGER / "trace.json.gz")]) == 0
    text = capsys.readouterr().out
    step = _table(text, "per step")
    assert list(step)[:3] == ["step time (profiled)", "GPU busy", "GPU idle"]
    assert "step time (unprofiled)" not in step
    assert SHARES_DIFFER not in text and ASSUMED_PACE not in text
    told = answer(capsys, "summary", str(EAGER / "trace.json.gz"))
    n_steps = len(told["steps"])
    assert told["step_time_ns"] is None
    assert told["divided_step"]["clock"] == "profiled"
    assert told["divided_step"]["idle_ns"] == pytest.approx(told["idle_ns"] / n_steps, abs=1)


def test_a_job_that_waits_is_not_idle(capsys):
    """12.5 ms were idle, and the causes below, shares of idle, came to 557 µs."""
    folder = str(DDP / "default")
    assert main(["summary", folder]) == 0
    text = capsys.readouterr().out
    step = _table(text, "per step")
    whole, *parts = (
        _ns(step[name][0])
        for name in ("step time (unprofiled)", "GPU busy", "waiting for a rank", "GPU idle")
    )
    assert sum(parts) == pytest.approx(whole, rel=0.01)
    assert whole == pytest.approx(_timed_ns(DDP / "default"), rel=0.01)
    causes = _table(text, "idle because of")
    assert sum(_ns(cells[0]) for cells in causes.values()) == pytest.approx(parts[2], rel=0.01)

    told = answer(capsys, "summary", folder)
    n_steps = len(told["steps"])
    divided = told["divided_step"]
    assert divided["idle_ns"] == pytest.approx(parts[2], rel=0.01)
    assert divided["waiting_ns"] == pytest.approx(parts[1], rel=0.01)
    assert (told["busy_ns"] - told["late_work_ns"]) / n_steps == pytest.approx(parts[0], rel=0.01)
    assert main(["compare", str(DDP / "eager"), folder]) == 0
    compared = _table(capsys.readouterr().out, "per step")
    for word in ("busy", "idle"):
        assert compared[word][1] == step[f"GPU {word}"][0]
    assert compared["waiting for a rank"][1] == step["waiting for a rank"][0]
    rows = ("busy", "waiting for a rank", "idle", "beyond the unprofiled step")
    left = [_ns(compared[row][0].replace("−", "-")) for row in rows]
    assert left[1] == pytest.approx(11.9e6, rel=0.01)  # as the finding and the waterfall have it
    assert left[3] < 0
    assert sum(left) == pytest.approx(_timed_ns(DDP / "eager"), rel=0.01)


def test_of_a_cut_trace_no_time_is_called_idle(tmp_path, capsys):
    """What was missing after the cut stood there as "end of the step, 99 % of idle"."""
    whole = gzip.decompress((EAGER / "trace.json.gz").read_bytes())
    cut = tmp_path / "cut.json"
    cut.write_bytes(whole[: len(whole) * 6 // 10])
    assert main(["summary", str(cut)]) == 0
    text = capsys.readouterr().out
    assert "How long the GPU was busy and idle is unknown" in text
    left = _table(text, "in the trace")
    assert "kernels" in left
    assert not {"from start to end", "GPU busy", "GPU idle"} & set(left)
    assert "idle because of" not in text
    assert main(["summary", "--json", str(cut)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["idle_ns"] is None
    assert told["idle_by_cause_ns"] is None
    assert told["busy_ns"]
