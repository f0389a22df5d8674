"""What compiling did to overlap, and its findings: jobs of two H200s."""

import json
import re
from dataclasses import replace

import pytest

from profiler_core.analysis.finding_rules import exchange
from profiler_core.analysis.findings import run_findings
from profiler_core.analysis.ranks.collective_kinds import LABELS, plural
from profiler_core.analysis.ranks.overlap import MOVED_SHARE, overlap
from profiler_core.analysis.rows.overlap import overlap_sentences, overlap_table, slowed_table
from profiler_core.analysis.rows.ranks import collective_rows
from profiler_core.cli.explained import explanation_text
from profiler_core.cli.main import main
from profiler_core.ingest.inductor.graphs import read_graph
from profiler_core.model.inductor import CompiledGraph, GraphNode, InductorLog
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run
from tests.analysis.ranks import plain_exchange
from tests.analysis.ranks.test_critical_path import JOBS, critical, traces

MS = 1e6


def pair_of(name):
    return Comparison.open([JOBS / name / "eager", JOBS / name / "default"]).pairs[0]


def test_both_sides_stand_beside_each_other_by_kind_and_group():
    result = pair_of("fsdp-even").overlap
    assert [row.kind for row in result.rows] == ["all_gather", "reduce_scatter"]
    for position, variant in enumerate(("eager", "default")):
        side = JOBS / "fsdp-even" / variant
        plain = plain_exchange.exposed_transfers(traces(side), result.ranks[position])
        for row in result.rows:
            exposed_ns = plain[row.kind][0] * 1e3
            assert row.exposed_ns[position] == pytest.approx(exposed_ns, rel=0.01)
            assert (row.group, row.group_size) == ("0,1", 2)
    assert result.rows[0].n == (12.0, 12.0)
    assert result.rows[0].bytes == (604618752, 604618752)
    assert result.exposed_ns[1] == pytest.approx(1.767 * MS, rel=0.01)


def test_ddps_buckets_are_cut_in_another_way_when_it_is_compiled():
    """Eager: buckets of 16.8 and 33.6 MB; compiled, where DDP's optimizer cuts the graph."""
    result = pair_of("ddp-even").overlap
    assert result.regrouped == ("all-reduce",)
    assert [row.later > 0 for row in result.moved] == [True] * 3
    assert all(abs(row.later) >= MOVED_SHARE for row in result.moved)
    text = " ".join(overlap_sentences(result))
    assert "all-reduces are cut into other calls or sizes" in text
    assert "3 all-reduces start later in the step's compute" in text
    assert "in the baseline after 48 %" in text


def test_a_job_beside_itself_has_moved_nothing():
    path = critical(JOBS / "fsdp-spin" / "eager")
    result = overlap((path, path))
    assert (result.moved, result.regrouped) == ((), ())
    assert result.slowed_ns[0] == result.slowed_ns[1] > 0.3 * MS
    assert overlap((path, None)) is None
    assert overlap((None, path)) is None


def test_a_kind_that_one_side_has_not_is_a_row_too():
    path = critical(JOBS / "fsdp-spin" / "eager")
    gathers = tuple(row for row in path.exchanges if row.kind == "all_gather")
    result = overlap((path, replace(path, exchanges=gathers)))
    (row,) = (row for row in result.rows if row.kind == "reduce_scatter")
    assert row.exposed_ns[1] is None
    assert row.exposed_ns[0] > 0
    cells = [cell.text for cell in overlap_table(result).rows[-1]]
    assert cells[1] == "6 → –"


def test_the_command_the_json_and_the_tables_say_it(capsys):
    pair = pair_of("ddp-even")
    text = "\n".join(explanation_text(pair.explanation, pair.numbers))
    assert re.search(r"all-reduce of 2 \(0,1\)\s+10\s+302 MB\s+1\.34 ms\s+453 µs → 760 µs", text)
    folder = JOBS / "ddp-even"
    main(["compare", str(folder / "eager"), str(folder / "default"), "--json"])
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    said = candidate["overlap"]
    assert said["ranks"] == [1, 1]
    assert said["rows"][0]["exposed_ns"] == list(map(round, pair.overlap.rows[0].exposed_ns))
    assert len(said["moved"]) == 3
    assert said["slowed_baseline"][0]["slowed_ns"] > said["slowed_baseline"][1]["slowed_ns"]
    table = slowed_table(pair.overlap, 0)
    assert table.rows[0][0].text == said["slowed_baseline"][0]["label"]
    assert "→" in table.rows[0][2].text
    names = [row.name for row in pair.baseline.required_summary().kernels]
    linked = slowed_table(pair.overlap, 0, names).rows[0][0]
    assert linked.item is not None
    assert linked.item.kind == "kernel"
    assert linked.text.startswith(linked.item.key.partition("~")[0])
    collectives = [name for name in names if "nccl" in name.lower()]
    (reduced, *_) = collective_rows(pair.baseline.job, collectives)
    assert reduced[0].item is not None
    assert "AllReduce" in reduced[0].item.key


# Findings


def keys_of(pair):
    return {finding.key: finding for finding in pair.findings}


@pytest.mark.parametrize("delay", ["even", "spin"])
def test_transfers_in_line_with_the_work_are_a_finding(delay):
    """Compiled tensor parallelism: 36 all-reduces, 1.75 of 16.8 ms, what follows needs each."""
    pair = pair_of(f"tp-{delay}")
    finding = keys_of(pair)["exposed_transfer"]
    path = critical(JOBS / f"tp-{delay}" / "default")
    holding_ns = sum(row.holding_up_ns for row in path.exchanges)
    assert holding_ns - 1 <= finding.at_stake_ns <= path.exposed_transfer_ns + 1
    assert finding.is_bound
    assert "no waiting is in it" in finding.evidence
    assert "Most are all-reduces (36 per step)" in finding.evidence
    assert "_micro_pipeline_tp" in finding.advice
    assert "reorder_for" not in finding.advice  # its log is not in the fixture


def test_transfers_of_ranks_that_are_not_here_hold_waiting():
    """Of 2 of 128 ranks, who waits for whom is not told; the finding said "no waiting is in it"."""
    run = Run.open(JOBS / "tp-even" / "default")
    path = run.summary.critical
    missing = tuple(replace(row, is_complete=False) for row in path.exchanges)
    finding = findings_with(run, replace(path, exchanges=missing))["exposed_transfer"]
    assert "no waiting" not in finding.evidence
    assert "what they wait for ranks that are not here is in it" in finding.evidence


@pytest.mark.parametrize("name", ["ddp-even", "ddp-spin", "fsdp-even", "fsdp-spin"])
def test_transfers_that_only_a_profiled_host_exposes_are_none(name):
    """FSDP2: 1.77 ms exposed in the trace of a slow host, 0.29 in that of a fast one."""
    assert "exposed_transfer" not in keys_of(pair_of(name))
    if name == "fsdp-even":
        path = critical(JOBS / name / "default")
        assert path.exposed_transfer_ns > 0.05 * pair_of(name).waterfall.candidate_ns


def test_a_host_bound_job_wins_nothing_by_hiding():
    """Eager tensor parallelism: the next kernel is launched after each transfer has ended."""
    run = Run.open(JOBS / "tp-even" / "eager")
    assert "exposed_transfer" not in {finding.key for finding in run.alone.findings}


def findings_with(run, path, code=None):
    summary = replace(run.summary, critical=path)
    return {finding.key: finding for finding in run_findings(run.trace, summary, run.record, None)}


@pytest.mark.parametrize(("share", "is_told"), [(0.045, False), (0.055, True)])
def test_kernels_that_transfers_slow_are_a_finding_from_a_twentieth_of_the_step_on(share, is_told):
    run = Run.open(JOBS / "ddp-spin" / "eager")
    path = run.summary.critical
    step_ns = 32.41 * MS
    told = findings_with(run, replace(path, slowed_ns=share * step_ns))
    assert ("slowed_by_transfers" in told) == is_told
    if is_told:
        finding = told["slowed_by_transfers"]
        assert finding.at_stake_ns == pytest.approx(share * step_ns, rel=0.02)
        assert "NCCL_MAX_CTAS" in finding.advice
        assert re.search(r"µs alone, \d+ µs beside them \(\d+ % more\)", finding.evidence)
        waiting = replace(path, slowed_ns=0.0, slowed_by_waiting_ns=share * step_ns)
        assert "slowed_by_transfers" not in findings_with(run, waiting)


class _Code:
    def __init__(self, *targets):
        nodes = tuple(GraphNode(name="n", target=target) for target in targets)
        graph = CompiledGraph(compile_id="0/0", direction="forward", calls=(), post_nodes=nodes)
        self.code = InductorLog(graphs=(graph,))


def test_inductors_passes_are_named_where_the_collectives_are_in_its_graph():
    gathers = exchange.by_kind(critical(JOBS / "fsdp-spin" / "default").exchanges)
    reduces = exchange.by_kind(critical(JOBS / "ddp-spin" / "default").exchanges)
    inside, outside = _Code("torch.ops._c10d_functional.all_reduce.default"), _Code("aten.mm")
    lever, advice = exchange._remedy(inside, reduces[0])
    assert lever == "hidden_transfers"
    assert "reorder_for_compute_comm_overlap" in advice
    lever, advice = exchange._remedy(outside, reduces[0])
    assert lever == "other_buckets"
    assert "reorder_for_compute_comm_overlap" not in advice
    assert "bucket_cap_mb" in advice
    lever, advice = exchange._remedy(outside, gathers[0])
    assert lever == "gathered_ahead"
    assert "set_modules_to_forward_prefetch" in advice


SUMS = """
    mm: "f32[8, 8]" = torch.ops.aten.mm.default(permute, tangents_1);
    all_reduce_: "f32[64]" = torch.ops._c10d_functional.all_reduce_.default(reshape, 'avg', '0');
    wait_tensor: "f32[64]" = torch.ops._c10d_functional.wait_tensor.default(all_reduce_);
    reshape_1: "f32[8, 8]" = torch.ops.aten.reshape.default(wait_tensor, [8, 8]);
"""
TAKES = '    addmm: "f32[8, 8]" = torch.ops.aten.addmm.default(bias, reshape_1, permute_1);\n'


@pytest.mark.parametrize(
    ("text", "told", "not_told"),
    [(SUMS, "computes nothing with the sums", "_micro_pipeline_tp"),
     (SUMS + TAKES, "_micro_pipeline_tp", "nothing with the sums")],
)  # fmt: skip
def test_sums_that_nothing_computes_with_are_no_activations(text, told, not_told):
    """DDP's gradients in the compiled backward pass; on two H200s all of them held kernels up."""
    worst = exchange.by_kind(critical(JOBS / "ddp-spin" / "default").exchanges)[0]
    in_line = replace(worst, holding_up_ns=worst.transfer_ns)
    facts = _Code()
    facts.code = InductorLog(graphs=(replace_nodes(facts.code.graphs[0], read_graph(text)),))
    lever, advice = exchange._remedy(facts, in_line)
    assert lever == "hidden_transfers"
    assert told in advice and not_told not in advice
    assert "reorder_for_compute_comm_overlap" in advice


def replace_nodes(graph, nodes):
    assert len(nodes) >= 4
    return CompiledGraph(compile_id="0/0", direction=graph.direction, calls=(), post_nodes=nodes)


def test_the_installed_torch_has_what_the_remedies_name():
    import torch._dynamo.config as dynamo
    import torch._inductor.config as inductor
    from torch.distributed.fsdp import FSDPModule

    text = exchange._BUCKETS + exchange._PREFETCH + exchange._PIPELINED + exchange._REORDER
    text += exchange._AT_THE_END
    names = set(re.findall(r"torch\._(dynamo|inductor)\.config\.(\w+)", text))
    names |= {("inductor", name) for name in re.findall(r"bucket_\w+_fx", text)}
    assert len(names) == 6
    for module, name in names:
        assert hasattr(dynamo if module == "dynamo" else inductor, name), name
    for name in re.findall(r"set_modules_to_\w+", text):
        assert hasattr(FSDPModule, name)


def test_several_of_a_kind_are_plural_in_each_noun():
    assert [plural(LABELS[kind]) for kind in ("all_reduce", "send_recv")] == [
        "all-reduces",
        "sends and receives",
    ]
