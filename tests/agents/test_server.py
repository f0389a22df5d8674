"""The server for agents, asked by the SDK's own client, as an agent would."""

import argparse
import gzip
import json
import os
import sys
from functools import partial
from pathlib import Path

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from profiler_core.agents import capturing
from profiler_core.agents.answer import MOST_CHARACTERS, Page, page, written
from profiler_core.agents.serve import server
from profiler_core.agents.tools import TOOLS, Findings
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.capture.option import declared
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
from profiler_core.cli.main import main

pytestmark = pytest.mark.usefixtures("home_of_module")

ROOT = Path(__file__).resolve().parents[2]
EAGER, GRAPHS = "sample/customcnn/eager", "sample/customcnn/reduce-overhead"
LOOP = ROOT / "tests" / "fixtures" / "server_loop"
SWEEP = ROOT / "tests" / "fixtures" / "sweeps" / "simplecnn_cpu"
WITHOUT_LOG = ROOT / "tests" / "fixtures" / "captures" / "breaky.eager"


def ask(tool, *, is_error=False, **arguments):
    """One call inside this process; the answer of a tool is JSON."""

    async def call():
        async with Client(server()) as client:
            return await client.call_tool(tool, arguments)

    result = anyio.run(call)
    (content,) = result.content
    assert len(content.text) <= MOST_CHARACTERS
    assert bool(result.is_error) == is_error, content.text
    return content.text if is_error else json.loads(content.text)


def command_line(capsys, *words):
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_it_answers_over_stdio_as_it_is_started():
    async def talk():
        started = StdioServerParameters(
            command=sys.executable,
            args=["-m", "profiler_core", "mcp"],
            cwd=ROOT,
            env={**os.environ},
        )
        async with Client(started) as client:
            tools = await client.list_tools()
            runs = await client.call_tool("list_runs", {"contains": "customcnn"})
            return tools.tools, json.loads(runs.content[0].text)

    tools, runs = anyio.run(talk)
    assert {tool.name for tool in tools} == {tool.__name__ for tool in TOOLS}
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert all(tool.description for tool in tools)
    assert runs["rows"][0]["baseline"]["id"] == EAGER


def test_captures_can_be_started_only_where_that_was_switched_on():
    async def names(allow_capture):
        async with Client(server(allow_capture=allow_capture)) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    assert "start_capture" not in anyio.run(partial(names, False))
    allowed = anyio.run(partial(names, True))
    assert not allowed["start_capture"].annotations.read_only_hint
    ask("start_capture", is_error=True, workload="resnet50")


def test_compare_says_what_the_command_line_says(capsys):
    sample = ROOT / "sample_traces" / "customcnn"
    ours = ask("compare", baseline=EAGER, candidate=GRAPHS)["candidates"][0]
    theirs = command_line(capsys, "compare", sample / "eager", sample / "reduce-overhead")
    (theirs,) = theirs["candidates"]
    for key in ("verdict", "step_time", "n_kernels", "device_time_ns", "memory"):
        assert ours[key] == theirs[key]
    assert ours["fusion"]["coverage_baseline"] == theirs["fusion"]["coverage_baseline"]
    assert [one["key"] for one in ours["findings"]] == [one["key"] for one in theirs["findings"]]


def test_summary_kernels_and_findings_are_of_the_run(capsys):
    theirs = command_line(capsys, "summary", ROOT / "sample_traces" / "customcnn" / "eager")
    ours = ask("summary", run=EAGER)
    assert ours["kernel_time_ns"] == theirs["kernel_time_ns"]
    rows = ask("kernels", run=EAGER, limit=3)
    assert rows["n"] == len(theirs["kernels"])
    assert [row["time_ns"] for row in rows["rows"]] == [
        row["time_ns"] for row in theirs["kernels"][:3]
    ]
    found = ask("findings", baseline=EAGER)["findings"]
    assert [one["key"] for one in found] == [one["key"] for one in theirs["findings"]]


def test_pages_of_groups_are_the_whole_ledger_once():
    pair = {"baseline": EAGER, "candidate": GRAPHS}
    total = ask("compare", baseline=EAGER, candidates=[GRAPHS])["candidates"][0]["fusion"]
    seen, offset = [], 0
    while offset is not None:
        answer = ask("fusion_groups", **pair, offset=offset, limit=3)
        seen += answer["rows"]
        offset = answer.get("next_offset")
    assert len(seen) == len({row["group"] for row in seen}) == total["n_groups"]
    assert sum(row["baseline_ns"] for row in seen) == pytest.approx(
        total["baseline_ns"], abs=len(seen)
    )
    one = ask("fusion_group", **pair, group=seen[0]["group"])
    assert one["title"] == seen[0]["title"]
    assert one["baseline_kernels"] or one["candidate_kernels"]
    few = ask("fusion_groups", **pair, contains="linear")["rows"]
    assert 0 < len(few) < len(seen)


def test_what_was_not_fused_is_the_command_lines(capsys):
    samples = ROOT / "sample_traces" / "customcnn"
    answer = command_line(capsys, "compare", samples / "eager", samples / "default")
    theirs = answer["candidates"][0]["fusion"]["not_fused"]
    assert theirs
    ours = ask("not_fused", baseline=EAGER, candidate="sample/customcnn/default", limit=50)
    assert ours["n"] == len(theirs)
    for row, expected in zip(ours["rows"], theirs, strict=True):
        assert row["source"].endswith(f"/{expected['source']}")  # with the whole path here
        assert {**row, "source": expected["source"]} == expected


def test_a_kernel_comes_with_its_generated_code():
    run = "sample/customcnn/default"
    rows = ask("kernels", run=run, contains="triton", limit=50)["rows"]
    code, answer = "", {"next_code_offset": 0}
    while "next_code_offset" in answer:
        answer = ask(
            "kernel", run=run, kernel=rows[0]["id"], code_offset=answer["next_code_offset"]
        )
        code += answer["code"]
    assert len(code) == answer["n_code_characters"]
    assert "@triton" in code and rows[0]["name"].split("(")[0] in code


def test_breaks_and_recompiles_carry_their_remedies(capsys):
    run = "sample/breaky/default"
    theirs = command_line(capsys, "logs", ROOT / "sample_traces" / "breaky" / "default")
    breaks = ask("graph_breaks", run=run)
    assert breaks["n"] == len(theirs["graph_breaks"]) > 0
    assert all(row["remedy"] for row in breaks["rows"])
    again = ask("recompiles", run=run)
    assert sum(row["n"] for row in again["rows"]) == len(theirs["recompiles"])
    assert again["n"] < len(theirs["recompiles"])  # those of one function and cause are one row
    assert all(row["file"].startswith("/") and row["line"] for row in again["rows"])


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("summary", {"run": "run/none/here"}, "no run"),
        ("summary", {"run": ""}, "list_runs"),
        ("compare", {"baseline": EAGER}, "candidate"),
        ("fusion_group", {"baseline": EAGER, "candidate": GRAPHS, "group": 999}, "from 0 to"),
        ("kernel", {"run": EAGER, "kernel": "nothing like it"}, "kernels"),
        ("kernel", {"run": EAGER, "kernel": 999}, "ids go from 0 to"),
        ("kernel", {"run": EAGER, "kernel": "void"}, "ids 1, 2"),
        ("findings", {"baseline": EAGER, "candidate": [GRAPHS, GRAPHS]}, "Ask about one of them"),
        ("fusion_groups", {"baseline": EAGER}, "candidate is missing"),
        (
            "fusion_groups",
            {"baseline": EAGER, "candidate": GRAPHS, "kind": "lost"},
            "kind is 'lost': input should be '', 'matched', 'removed'",
        ),
        ("gate", {"baseline": EAGER, "candidate": GRAPHS, "limits": {"speed": "+1%"}}, "step_time"),
        ("graph_breaks", {"run": str(WITHOUT_LOG)}, "no compiler log"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence_with_a_remedy(tool, arguments, word):
    said = ask(tool, is_error=True, **arguments)
    assert word in said
    assert "Traceback" not in said


def test_an_agent_may_say_where_and_how_to_capture(monkeypatch):
    """What it says becomes the very command line that a person would type."""
    asked = {}

    def submit(command, **more):
        asked.update(more, command=command)
        return "job-1"

    monkeypatch.setattr(capturing.jobs, "submit", submit)
    answer = capturing.start_capture(
        "bert", "eager,reduce-overhead", device="cuda:1", batch_size=4, training=True, counters=True
    )
    assert answer == capturing.Started("job-1", "queued")
    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    words = asked["command"][asked["command"].index("capture") + 1 :]
    spec = spec_from_namespace(parser.parse_known_args(words)[0])
    assert (spec.device, spec.batch_size, spec.trains, spec.counters) == ("cuda:1", 4, True, True)
    assert asked["device"] == "cuda:1"
    assert asked["owner"] == "agent"


def test_an_argument_of_an_unknown_name_is_an_error_that_lists_the_names():
    answer = ask("compare", is_error=True, baseline=EAGER, run=GRAPHS)
    assert answer == "compare has no argument run. Use baseline, candidate."


def test_an_argument_given_by_both_of_its_names_is_an_error():
    answer = ask("compare", is_error=True, baseline=EAGER, candidate=GRAPHS, candidates=[EAGER])
    assert "got candidate twice" in answer


def test_tools_take_runs_by_the_same_names_everywhere():
    """A run is `run`; a comparison is `baseline` and `candidate`, of one type."""

    async def schemas():
        async with Client(server()) as client:
            return {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}

    ids = {"run", "baseline", "candidate"}
    kinds = {"candidate": set(), "baseline": set(), "run": set()}
    for name, schema in anyio.run(schemas).items():
        assert schema["additionalProperties"] is False
        names = set(schema["properties"])
        assert names & ids in (set(), {"run"}, {"baseline", "candidate"}), name
        for key in names & ids:
            about = schema["properties"][key]
            kinds[key].add(json.dumps(about.get("anyOf", about.get("type"))))
    assert all(len(kind) == 1 for kind in kinds.values()), kinds


@pytest.mark.parametrize(
    ("tool", "before", "now"),
    [
        (
            "compare",
            {"baseline": EAGER, "candidates": [GRAPHS]},
            {"baseline": EAGER, "candidate": [GRAPHS]},
        ),
        ("ranks", {"place": "sample/ddp/eager"}, {"run": "sample/ddp/eager"}),
        ("kernel", {"run": EAGER, "name": "0"}, {"run": EAGER, "kernel": 0}),
    ],
)
def test_an_argument_is_taken_by_its_old_name_too(tool, before, now):
    assert ask(tool, **before) == ask(tool, **now)
    assert "candidates is not" not in ask("kernels", is_error=True, candidates=EAGER)


# One value for each option, as an agent sends it; batch_size and shapes exclude each other.
OPTIONS = {
    "workload": "my/model.py:build", "variants": "eager,default,aot_eager", "device": "cuda:1",
    "python": "path/to/venv", "directory": "some/where", "training": True, "ranks": 2,
    "shapes": "8x3x8x8,4x3x8x8", "options": ["layers=2", "width=8"], "logs": ["fusion", "guards"],
    "name": "mine", "seed": 3, "rounds": 5, "round_steps": 4, "round_seconds": 0.5,
    "telemetry_seconds": 0.25, "profile_wait": 0, "profile_warmup": 1, "steps": 3, "profile": False,
    "stacks": True, "memory": False, "numerics": False, "warm_compile": False,
    "sweep": "precision=fp32,tf32", "batch_size": 4, "counters": True,
    "compile_target": "blocks", "against": "git:main", "metrics": "sm__cycles_active.avg",
}  # fmt: skip


@pytest.mark.parametrize(
    ("left_out", "given"),
    [
        ({"batch_size", "counters", "against"}, "--shapes=8x3x8x8,4x3x8x8"),
        ({"shapes", "ranks", "sweep"}, "--batch-size=4"),
    ],
)
def test_an_agent_has_every_option_of_the_command_line(left_out, given, monkeypatch):
    assert set(OPTIONS) == set(declared(CaptureSpec))
    asked = []
    monkeypatch.setattr(
        capturing.jobs, "submit", lambda command, **more: asked.append(command) or "job-1"
    )
    options = {name: value for name, value in OPTIONS.items() if name not in left_out}

    async def call():
        async with Client(server(allow_capture=True)) as client:
            return await client.call_tool("start_capture", options)

    result = anyio.run(call)
    assert not result.is_error, result.content[0].text
    words = asked[0][asked[0].index("capture") + 1 : asked[0].index("--out")]
    assert given in words
    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    spec = spec_from_namespace(parser.parse_args(words))
    fresh = CaptureSpec("bert")
    for name in options:
        assert getattr(spec, name) != getattr(fresh, name), name
    assert spec.options == (("layers", "2"), ("width", "8"))
    assert spec.logs == ("fusion", "guards")


def test_a_capture_that_makes_no_sense_is_refused_before_it_starts():
    async def call():
        async with Client(server(allow_capture=True)) as client:
            asked = {"workload": "bert", "device": "tpu"}
            return await client.call_tool("start_capture", asked)

    result = anyio.run(call)
    assert result.is_error
    assert "Device 'tpu' is unknown" in result.content[0].text


def test_a_sweep_is_found_by_any_of_its_runs(capsys):
    theirs = command_line(capsys, "sweep", SWEEP)
    ours = ask("sweep", run=str(SWEEP / "batch-16" / "eager"))
    assert ours["series"] == theirs["series"]
    assert len(ours["points"]) == len(theirs["points"])


def test_ranks_and_what_the_list_says_of_them(capsys):
    theirs = command_line(capsys, "ranks", ROOT / "sample_traces" / "ddp" / "eager")
    ours = ask("ranks", place="sample/ddp/eager")
    assert ours["jobs"][0]["headline"] == theirs["jobs"][0]["headline"]
    (row,) = ask("list_runs", contains="sample/ddp")["rows"]
    assert row["n_ranks"] == len(ours["jobs"][0]["ranks"]) == 2


def test_groups_of_a_job_say_what_they_take_on_every_rank(capsys):
    folder = ROOT / "sample_traces" / "ddp"
    theirs = command_line(capsys, "compare", folder)["candidates"][0]["fusion"]["over_ranks"]
    runs = {"baseline": "sample/ddp/eager", "candidate": "sample/ddp/default"}
    page = ask("fusion_groups", **runs, limit=1)
    assert page["slower_on_one_rank"] == theirs["slower"]
    number = page["rows"][0]["group"]
    ours = ask("fusion_group", **runs, group=number)["over_ranks"]
    of_group = next(group for group in theirs["groups"] if group["group"] == number)
    assert ours == {side: of_group[side] for side in ("baseline", "candidate")}
    assert set(ours["baseline"]["by_rank"]) == {"0", "1"}


def test_every_kernel_has_an_id_that_finds_it_alone():
    """Also those whose names are alike where they are shown."""
    rows = ask("kernels", run=EAGER, limit=50)["rows"]
    assert [row["id"] for row in rows] == list(range(len(rows)))
    for row in rows[:3]:
        whole = ask("kernel", run=EAGER, kernel=row["id"])
        assert {key: whole[key] for key in ("id", "category", "n", "time_ns")} == {
            key: row[key] for key in ("id", "category", "n", "time_ns")
        }
        beginning, cut, end = row["name"].partition("…")
        assert whole["name"].startswith(beginning)
        assert whole["name"].endswith(end)
        assert len(row["name"]) == 160 if cut else row["name"] == whole["name"]
        assert ask("kernel", run=EAGER, kernel=whole["name"])["id"] == row["id"]


def test_copies_and_memsets_are_listed_as_page_kernels_lists_them():
    """By the file, whose memsets all lie in its steps; agents were told of none."""
    run, name = "sample/simplecnn-training/reduce-overhead", "Memset (Device)"
    trace = ROOT / "sample_traces" / "simplecnn-training" / "reduce-overhead" / "trace.json.gz"
    events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    judge = [event for event in events if event.get("cat") == "gpu_memset"]
    rows = ask("kernels", run=run, limit=200)["rows"]
    assert [row["time_ns"] for row in rows] == sorted((r["time_ns"] for r in rows), reverse=True)
    (row,) = [row for row in rows if row["category"] == "memset"]
    assert (row["name"], row["n"]) == (name, len(judge))
    assert row["time_ns"] == pytest.approx(1000 * sum(e["dur"] for e in judge), abs=len(judge))
    for wanted in (row["id"], name, "Memset (Unknown)"):
        answer = ask("kernel", run=run, kernel=wanted)
        assert {key: answer[key] for key in row} == row
        assert answer["way"] == "cleared"
        assert answer["copied_bytes"] == sum(event["args"]["bytes"] for event in judge)
        assert answer["code"] is None


def test_a_long_name_is_cut_in_its_middle():
    assert clipped("abcdefghij", 10) == "abcdefghij"
    assert clipped("abcdefghijk", 6) == "abc…jk"


def test_memory_is_the_command_lines_with_the_largest_rows(capsys):
    run = ROOT / "sample_traces" / "simplecnn-training" / "default"
    theirs = command_line(capsys, "memory", run)
    ours = ask("memory", run="sample/simplecnn-training/default", limit=3)
    for key in ("peak_reserved_bytes", "peak_allocated_bytes", "before_bytes", "segments"):
        assert ours[key] == theirs[key]
    assert ours["churn"]["rows"] == theirs["churn"]["rows"][:3]
    assert len(theirs["churn"]["rows"]) > 3


def test_telemetry_is_the_command_lines(capsys):
    theirs = command_line(capsys, "telemetry", ROOT / "sample_traces" / "customcnn" / "eager")
    del theirs["schema"]
    ours = ask("telemetry", run=EAGER)
    assert ours == theirs
    assert ours["power_w"] and ours["sm_clock_mhz"] and ours["clock_events"] is not None
    said = ask("telemetry", is_error=True, run=str(WITHOUT_LOG))
    assert "holds no samples of a GPU or a process" in said and "nvml.jsonl" in said


def test_skips_of_cuda_graphs_and_the_time_of_compiling(capsys):
    run = "sample/dynshape/reduce-overhead"
    theirs = command_line(capsys, "logs", ROOT / "sample_traces" / "dynshape" / "reduce-overhead")
    skips = ask("cudagraphs", run=run)
    assert skips["cudagraph_coverage"] == theirs["cudagraph_coverage"]
    assert skips["rows"] == theirs["cudagraph_skips"][: len(skips["rows"])]
    compiling = ask("compile_time", run=run, limit=50)
    assert compiling["compile_time"] == theirs["compile_time"]
    seconds = [row["seconds"] or 0 for row in compiling["rows"]]
    assert len(seconds) == len(theirs["compilations"])
    assert seconds == sorted(seconds, reverse=True)


def test_the_gate_judges_by_the_limits_that_an_agent_gives(capsys):
    samples = ROOT / "sample_traces" / "customcnn"
    words = ("gate", samples / "eager", samples / "reduce-overhead", "--max-kernels", "+900%")
    theirs = command_line(capsys, *words)
    del theirs["schema"]
    pair = {"baseline": EAGER, "candidate": GRAPHS}
    assert ask("gate", **pair, limits={"kernels": "+900%"}) == theirs
    default = ask("gate", **pair)["checks"]
    assert [check["limit"] for check in default if check["quantity"] == "step_time"] == ["+3%"]


def test_groups_name_the_whole_path_of_their_source_lines():
    pair = {"baseline": EAGER, "candidate": "sample/customcnn/default"}
    rows = [row for row in ask("fusion_groups", **pair, limit=50)["rows"] if row["source"]]
    assert rows
    for row in rows:
        file, _, line = row["source"].rpartition(":")
        assert Path(file).is_absolute() and line.isdigit()
    details = ask("fusion_group", **pair, group=rows[0]["group"])
    assert details["source"][0].startswith(f"{rows[0]['source']}: ")


def test_counters_come_in_pages(capsys):
    path = ROOT / "tests" / "fixtures" / "counters" / "resnet50_b32.default.ncu.csv.gz"
    theirs = command_line(capsys, "counters", path)
    ours = ask("counters", run=str(path), limit=5)
    assert ours["dram_read_bytes"] == theirs["dram_read_bytes"]
    assert (ours["n"], ours["next_offset"]) == (len(theirs["kernels"]), 5)
    few = ask("counters", run=str(path), contains="triton")
    assert 0 < few["n"] < ours["n"]
    assert "holds no counters" in ask("counters", is_error=True, run=EAGER)


def test_the_largest_sample_keeps_to_the_bound():
    """`ask` measures every answer."""
    pair = {"baseline": "sample/bert/eager", "candidate": "sample/bert/default"}
    ask("compare", baseline="sample/bert")
    rows = ask("fusion_groups", **pair, limit=10_000)
    assert rows["next_offset"] == len(rows["rows"])
    ask("kernels", run=pair["candidate"], limit=10_000)
    ask("findings", **pair)


def test_an_answer_is_cut_until_it_fits_and_says_so():
    rows = [{"name": "x" * 1_000, "n": n} for n in range(50)]
    answer = json.loads(written(page(Page, rows, 0, 50)))
    assert 0 < len(answer["rows"]) < 50
    assert answer["next_offset"] == len(answer["rows"])
    answer = json.loads(written(Findings((), ("y" * 5_000,) * 64)))
    assert answer["left_off"]["notes"] + len(answer["notes"]) == 64
    assert answer["notes"][0].endswith("(3800 more characters)")


def test_modules_of_a_servers_steps_are_those_of_compare_and_sum_to_all(capsys):
    whole = ask("modules", baseline=str(LOOP), by="class", contains="Layer", limit=1)
    divided = command_line(capsys, "compare", LOOP, LOOP)["candidates"][0]["divided"]
    assert [(part["phase"], part["batch"]) for part in divided["server"]] == [
        ("decode", 1), ("decode", 4), ("decode", 16)
    ]  # fmt: skip
    total = 0
    for part, name in zip(divided["server"], ("decode 1", "decode, 4", "Decode 16"), strict=True):
        answer = ask(
            "modules", baseline=str(LOOP), by="class", contains="Layer", limit=1, steps=name
        )
        (row,) = answer["rows"]
        assert row in part["by_class"]
        assert answer["n_steps"] == part["n_steps"]
        assert row["groups"] == []
        total += row["candidate_ns"]
    assert whole["rows"][0]["class"] == "Layer"
    assert total == whole["rows"][0]["candidate_ns"]
    refused = ask("modules", is_error=True, baseline=str(LOOP), steps="prefill 8")
    assert "decode, 16" in refused
