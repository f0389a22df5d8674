"""Operators that kernels compute together are one group, with their kernels and no others.

The judge is Inductor's comment above each call of its code ("Original ATen: […]"), read as text:
no kernel lies in a group of operators of which it names none. A batch norm's gradient had the sums
of a convolution's bias for its kernels, and its own were told as those of a relu, "slower by
290 µs"; within one source line nothing else tells them apart.
"""

import gzip
import json
import re
from pathlib import Path

import pytest

from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.ledger.fused_neighbours import join_neighbours
from profiler_core.analysis.ledger.match import Match, Tie
from profiler_core.analysis.ledger.operators import operator, operators_of_kernel
from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.work import device_work
from profiler_core.session.comparison import Comparison
from tests.analysis.ledger.pairs import CAPTURES

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
_RUN = re.compile(r"^\s+(\w+)\.run\(")
_ATEN = re.compile(r"Original ATen: \[([^\]]*)\]")


def _modules(folder: Path) -> list[str]:
    """The generated modules of a run's structured log: lines that a tab begins."""
    modules: list[str] = []
    (path,) = (folder / "torch_trace").iterdir()
    is_code = False
    for line in gzip.decompress(path.read_bytes()).decode("utf-8", "replace").splitlines(True):
        if not line.startswith("\t"):
            is_code = '"inductor_output_code"' in line
            modules += [""] if is_code else []
        elif is_code:
            modules[-1] += line[1:]
    return modules


def _calls(code: str) -> list[tuple[str, frozenset[str]]]:
    """(kernel, operators of before decomposition) of each call in order."""
    calls, named = [], ""
    starts = [code.find(head) for head in ("def partition_", "def call(") if head in code]
    for row in code[min(starts) :].splitlines():
        if found := _ATEN.search(row):
            named = found[1]
        elif call := _RUN.match(row):
            parts = (part.strip().removeprefix("aten.") for part in named.split(","))
            calls.append((call[1], frozenset(operator(f"aten::{part}") for part in parts if part)))
    return calls


@pytest.mark.parametrize("variant", ["default", "reduce-overhead"])
def test_no_kernel_lies_among_operators_of_which_it_names_none(variant):
    sample = SAMPLES / "simplecnn-training"
    pair = Comparison.open([sample / "eager", sample / variant]).pairs[0]
    work = device_work(pair.runs[1].trace)
    starts, names = work["ts_ns"].to_list(), work["name"].to_list()
    launched = [
        (str(names[row]), pair.ledger.candidate_group[row])
        for row in sorted(range(work.height), key=starts.__getitem__)
        if str(names[row]).startswith("triton_") and pair.ledger.candidate_group[row] >= 0
    ]
    every = [calls for code in _modules(sample / variant) if (calls := _calls(code))]
    n_judged = at = 0
    while at < len(launched):
        here = [name for name, _ in launched[at:]]
        calls = next(c for c in every if here[: len(c)] == [name for name, _ in c])
        for (name, aten), (_, number) in zip(calls, launched[at:], strict=False):
            group = pair.ledger.groups[number]
            ops = {operator(each.op) for each in group.baseline.operators}
            assert not ops or not aten or ops & aten, (group.title, name, aten)
            n_judged += bool(ops and aten)
        at += len(calls)
    assert n_judged == len(launched) > 100


def test_a_batch_norm_and_its_relu_are_one_group_without_a_log():
    """ "Most is lost in 33 threshold_backward (+291 µs)", whose kernels were the batch norm's."""
    folders = [CAPTURES / f"resnet50_train.{mode}+amp+cl" for mode in ("eager", "default")]
    bare = Comparison.open([folder / "trace.json.gz" for folder in folders]).pairs[0]
    logged = Comparison.open(folders).pairs[0]
    times: list[list[float]] = []
    for pair in (bare, logged):
        of_norms = [
            group
            for group in fold(pair.ledger.groups)
            if {"aten::threshold_backward", "aten::native_batch_norm_backward", "aten::relu"}
            & {each.op for each in group.first.baseline.operators}
        ]
        assert all(group.delta_ns < 0 for group in of_norms), [g.title for g in of_norms]
        sides = ((g.baseline_ns, g.candidate_ns) for g in of_norms)
        times.append([sum(side) for side in zip(*sides, strict=True)])
    for without, with_log in zip(*times, strict=True):
        assert without == pytest.approx(with_log, rel=0.06)


def test_without_a_log_a_kernel_is_known_to_compute_both_branches_batch_norms():
    """The kernel that normalises, adds and has the relu was wholly the second branch's.

    It is handed a mean and a variance of both, by the operator around its launch in the file.
    """
    folders = [CAPTURES / f"resnet50_train.{mode}+amp+cl" for mode in ("eager", "default")]
    file = gzip.decompress((folders[1] / "trace.json.gz").read_bytes())
    of_both = {
        event["name"]
        for event in json.loads(file)["traceEvents"]
        if event["name"].startswith("triton_poi")
        and sum(shape[2:] == [1, 1] for shape in event["args"].get("Input Dims", ())) == 4
    }
    assert len(of_both) == 4  # one a stage
    bare = Comparison.open([folder / "trace.json.gz" for folder in folders]).pairs[0]
    logged = Comparison.open(folders).pairs[0]
    sides: list[set[tuple[int, int]]] = []
    for pair in (bare, logged):
        groups = [
            group
            for group in pair.ledger.groups
            if of_both & {kernel.name for kernel in group.candidate.kernels}
        ]
        for group in groups:
            n_of = {each.op: each.n for each in group.baseline.operators}
            assert n_of["aten::batch_norm"] == 2 * n_of["aten::add_"]
        sides.append({(g.baseline.time_ns, g.candidate.time_ns) for g in groups})
    assert sides[0] == sides[1]
    assert len(sides[0]) == 4


WHOLE, STATISTIC, WEIGHT = (64, 256, 56, 56), (1, 256, 1, 1), (256,)
OF_ONE = (STATISTIC, STATISTIC, WEIGHT, WEIGHT)
CHUNKS = (1, 256, 1, 1, 512)


def _normalised(*kernels: tuple[str, tuple[tuple[int, ...], ...]]) -> list[tuple[int, ...]]:
    """Batch norms that the last kernel is tied to; those before it reduce for one each."""
    norms = [
        Item("batch_norm", frozenset(), (number,), shapes=(WHOLE,))
        for number in range(len(kernels) - 1)
    ]
    items = [
        Item(name, operators_of_kernel(name), (number,), shapes=shapes, by_kernel_name=True)
        for number, (name, shapes) in enumerate(kernels)
    ]
    ties = [Tie((number,), (number,), "kernel name") for number in range(len(norms))]
    convolution = Item("convolution", frozenset(), (99,))  # the norms are no neighbours
    match = Match(ties=ties)
    join_neighbours([item for norm in norms for item in (norm, convolution)], items, match)
    last = items[-1].units
    return [tie.baseline for tie in match.ties if tie.candidate == last]


REDUCES = ("triton_red_fused__native_batch_norm_legit_functional_3", (WHOLE, CHUNKS, CHUNKS))
ADDS = "triton_poi_fused__native_batch_norm_legit_functional_add_relu_7"


def test_a_kernel_is_tied_to_as_many_batch_norms_as_it_is_handed_statistics_of():
    both = (ADDS, (WHOLE, WHOLE, *OF_ONE, WHOLE, *OF_ONE))
    assert _normalised(REDUCES, REDUCES, both) == [(0,), (1,)]


@pytest.mark.parametrize(
    "kernels",
    [
        (REDUCES, REDUCES, (ADDS, (WHOLE, *OF_ONE, WHOLE, WHOLE))),  # adds the other one's result
        (REDUCES, REDUCES, REDUCES, (ADDS, (WHOLE, WHOLE, *OF_ONE, WHOLE, *OF_ONE))),
        (REDUCES, REDUCES, (ADDS, (WHOLE, WHOLE, *OF_ONE, WHOLE, STATISTIC))),
        (REDUCES, REDUCES, (ADDS, ())),  # a replay: no shapes
        (
            (REDUCES[0], ((64, 64, 56, 56), CHUNKS, CHUNKS)),  # of a tensor of another size
            REDUCES,
            (ADDS, (WHOLE, WHOLE, *OF_ONE, WHOLE, *OF_ONE)),
        ),
    ],
)
def test_where_the_tensors_do_not_say_which_batch_norms_it_computes_it_is_tied_to_none(kernels):
    assert _normalised(*kernels) == []


def test_a_pool_that_reads_what_a_batch_norm_stored_is_a_group_of_its_own():
    """Its kernel has the batch norm and the relu in its name, and computes neither."""
    folders = [CAPTURES / f"resnet50_b32.{mode}" for mode in ("eager", "default")]
    pair = Comparison.open([folder / "trace.json.gz" for folder in folders]).pairs[0]
    titles = [group.title for group in pair.ledger.groups]
    assert titles.count("max_pool2d") == 1


def test_an_operator_with_a_kernel_of_its_own_joins_no_neighbour_that_is_named_after_both():
    """The dropout's kernel hands its result on; the pool's gradient is computed by a library."""
    sample = SAMPLES / "simplecnn-training"
    pair = Comparison.open([sample / "eager", sample / "default"]).pairs[0]
    titles = {group.title for group in pair.ledger.groups}
    assert {"native_dropout_backward", "_adaptive_avg_pool2d_backward"} <= titles


def test_of_a_line_with_two_modules_each_gradient_lies_in_its_own():
    """`self.fc2(F.relu(self.fc1(x)))`: the sum of fc1's bias stood in fc2."""
    sample = SAMPLES / "simplecnn-training"
    pair = Comparison.open([sample / "eager", sample / "default"]).pairs[0]
    modules = {g.title: g.module for g in pair.ledger.groups if g.phase == "backward"}
    assert modules["threshold_backward + sum"] == "fc1"
    assert modules["sum"] == "fc2"
    assert modules["threshold_backward + cudnn_batch_norm_backward"] == "norm2"


def test_a_generated_kernel_is_not_what_a_library_computes_though_its_name_has_it():
    """Four gradients of convolutions were told as twice as slow: their batch norms' kernels."""
    folders = [CAPTURES / f"resnet50_train.{mode}+amp+cl" for mode in ("eager", "default")]
    pair = Comparison.open([folder / "trace.json.gz" for folder in folders]).pairs[0]
    for group in pair.ledger.groups:
        if {each.op for each in group.baseline.operators} == {"aten::convolution_backward"}:
            names = [kernel.name for kernel in group.candidate.kernels]
            assert not any("native_batch_norm_backward" in name for name in names), names
