"""Dossiers of a sample's kernels, operators, groups, breaks, events and places.

Numbers are computed here once more, from the plain JSON of the traces alone.
"""

import json
import math
import shutil
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from profiler_core.analysis.categories import PRODUCT_CATEGORIES
from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.dossier.record import Dossier, Relation
from profiler_core.analysis.dossier.roofline import Roofline, Traffic, beside, marked, roofline
from profiler_core.analysis.item import (
    Item,
    break_item,
    event_item,
    finding_item,
    group_item,
    kernel_item,
    module_item,
    operator_item,
    source_item,
)
from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.wording.breaks import break_answer
from profiler_core.analysis.wording.dossier import (
    NO_COUNTERS,
    copies_about,
    kernel_answer,
    missing_of_kernel_runs,
)
from profiler_core.analysis.wording.findings import advice_text
from profiler_core.analysis.wording.roofline import roofline_sentences
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import kernel_entries
from profiler_core.session.dossier.make import dossier
from profiler_core.units import format_duration
from tests.reference import ns, read_events

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_traces" / "simplecnn-training"
BREAKY = ROOT / "sample_traces" / "breaky"
BARE = ROOT / "tests" / "fixtures" / "captures" / "customcnn_b1.eager" / "trace.json.gz"
TRITON = "triton_red_fused_native_batch_norm_backward_12"


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison.open([SAMPLE / "eager", SAMPLE / "default"])


@cache
def events_of(variant: str) -> list[dict[str, Any]]:
    (trace,) = (SAMPLE / variant).glob("trace.json*")
    return read_events(trace)


def kernels_of(variant: str) -> dict[str, list[dict[str, Any]]]:
    by_name: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in events_of(variant):
        if event.get("cat") == "kernel":
            by_name[event["name"]].append(event)
    return by_name


def steps_of(variant: str) -> int:
    names = {
        event["name"]
        for event in events_of(variant)
        if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#")
    }
    return len(names)


def relation(of: Dossier, kind: str) -> Relation:
    return next(relation for relation in of.relations if relation.kind == kind)


@pytest.mark.parametrize("place", [0, 3])
def test_a_kernel_has_the_times_and_calls_of_the_file(comparison: Comparison, place: int) -> None:
    name = comparison.kernels[place].name
    made = dossier(comparison, kernel_item(name))
    for time, variant in zip(made.times, ("eager", "default"), strict=True):
        calls = kernels_of(variant)[name]
        if not calls:
            assert time.time_ns is None
            continue
        durations = [ns(call["dur"]) for call in calls]
        assert time.time_ns == pytest.approx(sum(durations) / steps_of(variant))
        assert time.n == len(durations) / steps_of(variant)
        assert (time.min_ns, time.max_ns) == (min(durations), max(durations))


def test_a_generated_kernel_is_held_against_the_memory(comparison: Comparison) -> None:
    """It reads 64×32×32×32 floats twice and writes partial sums, at 4.8 TB/s of an H200."""
    made = dossier(comparison, kernel_item(TRITON))
    (line,) = made.rooflines
    calls = kernels_of("default")[TRITON]
    time_s = float(sum(call["dur"] for call in calls)) * 1e-6
    n_bytes = line.bytes_moved * steps_of("default")
    assert n_bytes >= len(calls) * 64 * 32 * 32 * 32 * 4
    assert line.bytes_per_s == pytest.approx(n_bytes / time_s)
    assert line.memory_share == pytest.approx(n_bytes / time_s / 4.8e12)
    share = f"{round(100 * line.memory_share)} % of the memory's bandwidth"
    assert f" at {share}" in made.answer


def test_a_generated_kernel_shows_its_code_with_its_stores(comparison: Comparison) -> None:
    made = dossier(comparison, kernel_item(TRITON))
    (piece,) = made.generated
    lines = piece.text.splitlines()
    stores = {n for n, line in enumerate(lines, 1) if "tl.store(" in line}
    assert piece.stores == stores != set()
    assert made.arguments[0].outputs == "32×8 f32"
    assert [source.label for source in made.sources] == ["models.py:47"]
    assert 47 in made.sources[0].lines
    # relu is the model's own; the sum of the convolution's bias is a second call.
    assert made.modules == ("norm1", "(model)", "conv1")


def test_what_works_for_several_branches_names_them_all() -> None:
    """The dossier of avgpool's operator said that it lies in layer4.2.bn3, of the same kernel."""
    folder = SAMPLE.parent / "resnet50"
    runs = Comparison.open([folder / run for run in ("eager", "default")])
    made = dossier(runs, operator_item("aten::adaptive_avg_pool2d"))
    assert made.modules[0] == "layer4.2.bn3"
    assert set(made.modules) == {"layer4.2.bn3", "layer4.2", "layer4.2.relu", "avgpool"}


def test_launch_and_occupancy_are_those_of_the_file(comparison: Comparison) -> None:
    made = dossier(comparison, kernel_item(TRITON))
    (launch,) = made.launches
    arguments = [call["args"] for call in kernels_of("default")[TRITON]]
    key = "est. achieved occupancy %"
    assert launch.occupancy_pct == pytest.approx(float(arguments[0][key]))
    assert launch.registers_per_thread == arguments[0]["registers per thread"]
    blocks = {tuple(args["grid"]) for args in arguments}
    assert blocks == {(launch.n_blocks, 1, 1)}


def test_a_grid_is_too_small_only_where_the_largest_one_is() -> None:
    """A layout kernel in eleven grids: 32 blocks took the most time, and 2 700 fill the device."""
    samples = Path(__file__).resolve().parents[2] / "sample_traces/dynshape"
    pair = Comparison.open([samples / "eager", samples / "default"])
    table = pair.runs[0].required_trace().device
    (name,) = {n for n in table["name"].cast(pl.String).to_list() if "nchwToNhwcKernel" in n}
    made = dossier(pair, kernel_item(name))
    assert {launch.n_blocks for launch in made.launches} == {450 * 6}


def test_the_longest_call_is_on_the_timeline(comparison: Comparison) -> None:
    made = dossier(comparison, kernel_item(TRITON))
    (event,) = made.on_timeline
    row = comparison.runs[1].required_trace().device.row(event.row, named=True)
    longest = max(kernels_of("default")[TRITON], key=lambda call: call["dur"])
    assert (event.run, row["dur_ns"]) == (1, ns(longest["dur"]))


def test_a_convolution_s_flops_are_those_of_its_shapes(comparison: Comparison) -> None:
    """Of 3×3 over 16×16 from 32 to 64 channels in batches of 64: both gradients."""
    groups = comparison.pairs[0].ledger.groups
    number = next(
        n for n, g in enumerate(groups) if g.title == "convolution_backward" and g.module == "conv2"
    )
    made = dossier(comparison, group_item(1, number))
    flops = 2 * (2 * 64 * 64 * 16 * 16 * 32 * 3 * 3)
    assert [line.flops for line in made.rooflines] == [flops, flops]
    assert "3×3 convolution, backward" in made.answer
    assert relation(made, "operators").entries[0].title == "aten::convolution_backward"


def test_a_call_of_several_kernels_fits_into_the_cache_with_all_that_it_moves() -> None:
    """A convolution of 122 MB in three kernels was told to fit into 63 MB."""
    h200 = peaks_of("NVIDIA H200")
    assert h200 is not None and h200.l2_bytes is not None
    for n_bytes, fits in ((2 * h200.l2_bytes, False), (h200.l2_bytes, True)):
        line = roofline("default", h200, 5, Traffic(5 * n_bytes, 1_000_000, n_calls=5, n_events=15))
        assert line is not None and line.fits_cache is fits
        assert any("fits into the L2 cache" in text for text in roofline_sentences(line)) is fits


def test_a_product_at_the_units_limit_says_so_though_its_data_fits_into_the_cache() -> None:
    """Of 13.2 GFLOP in 21.5 µs, 62 % of an H200's peak, only the cache was told."""
    at_limit = Roofline("default", 21_500, 36.3e6, 1.69e12, 0.35, fits_cache=True, flops=13.2e9,
                        flops_per_s=612e12, products_ns=21_500, products_of="kernel",
                        compute_share=0.62, units="16-bit Tensor Core", device="H200")  # fmt: skip
    limit = "At the limit of the units that compute it: fewer or smaller products make it"
    for line in (at_limit, replace(at_limit, fits_cache=False, some_fit_cache=True)):
        assert roofline_sentences(line)[-1] == f"{limit} faster."
        # Of fp32 "only fewer or smaller products" stood beside a finding that TF32 saves 17.3 ms.
        for units, faster in (
            ("fp32", ", or Tensor Cores, in a lower precision"),
            ("TF32 Tensor Core", ", or 16 bits"),
        ):
            assert roofline_sentences(replace(line, units=units))[-1] == f"{limit} faster{faster}."
        below = replace(line, compute_share=0.5)
        assert "fit into the L2 cache" in roofline_sentences(below)[-1].replace("fits", "fit")


def test_units_that_a_replay_mixes_have_no_peak_either() -> None:
    """conv2 runs in TF32 in 10 of 12 steps, in fp32 in 2: eager had no share, a replay 8 %."""
    folder = SAMPLE.parent / "dynshape"
    pairs = Comparison.open([folder / run for run in ("eager", "reduce-overhead")])
    groups = pairs.pairs[0].ledger.groups
    for module, units in (("conv1", {"fp32"}), ("conv2", {None})):
        (number,) = (n for n, g in enumerate(groups) if g.title == "conv2d" and g.module == module)
        lines = dossier(pairs, group_item(1, number)).rooflines
        assert len(lines) == 2
        assert {line.units for line in lines} == units


def test_gradients_on_two_units_have_no_peak() -> None:
    """Of conv2's, by TF32 and by an FFT in fp32, "26 % of the fp32 peak" was told."""
    pairs = Comparison.open([SAMPLE / "eager", SAMPLE / "reduce-overhead"])
    groups = pairs.pairs[0].ledger.groups
    (number,) = (
        n
        for n, group in enumerate(groups)
        if group.title == "convolution_backward" and group.module == "conv2"
    )
    (eager, *_) = dossier(pairs, group_item(1, number)).rooflines
    assert (eager.label, eager.units, eager.compute_share) == ("eager", None, None)


def test_a_line_may_not_be_what_prepares_a_replay() -> None:
    """Each line of bert's said that 1.47 µs of no known line may be its: copies of inputs."""
    folder = SAMPLE.parent / "bert"
    runs = Comparison.open([folder / run for run in ("eager", "reduce-overhead")])
    made = dossier(runs, source_item("activations.py:89"))
    assert not any("of which no line is known" in sentence for sentence in made.about)


def test_a_kernel_of_a_replay_is_no_operator_without_time() -> None:
    """Alone, the dearest "operator" of a replay "takes no time in any of these runs"."""
    runs = Comparison.open([SAMPLE.parent / "resnet50" / "reduce-overhead"])
    name = next(row.name for row in runs.kernels if row.name.startswith("triton_"))
    made = dossier(runs, operator_item(name))
    assert made.kind == "kernel"
    assert made.times[0].time_ns == dossier(runs, kernel_item(name)).times[0].time_ns > 0


def test_an_operator_of_a_replay_alone_has_its_time_of_modules() -> None:
    """bert's dearest, mm with 4.67 ms, "takes no time in any of these runs" after a click."""
    runs = Comparison.open([SAMPLE.parent / "bert" / "reduce-overhead"])
    row = runs.runs[0].divided.operators[0]
    made = dossier(runs, operator_item(row.op))
    assert made.kind == "operator"
    assert made.times[0].time_ns == pytest.approx(row.step_ns(0))
    assert row.step_ns(0) > 4e6
    assert "takes no time" not in made.answer
    assert relation(made, "kernels").entries


def test_a_scalar_moves_no_0_bytes() -> None:
    """Of .item() "moves at least 0 B per step: 0 B/s" was told."""
    folder = SAMPLE.parent / "breaky"
    runs = Comparison.open([folder / run for run in ("eager", "default")])
    groups = runs.pairs[0].ledger.groups
    number = next(n for n, group in enumerate(groups) if group.title == "item")
    assert groups[number].baseline.bytes_moved == 0
    made = dossier(runs, group_item(1, number))
    assert not made.rooflines
    assert any("How many bytes it moves is not known" in text for text in made.missing)


def test_what_adds_up_a_product_s_parts_has_no_operations_to_miss() -> None:
    """A split-K reduction was said to lack operations that the product's own kernel has."""
    line = Roofline("default", 20_000, 4e6, 2e11, 0.04, fits_cache=True, device="H200")
    helps = marked(line, ("gemm",), only_helps=True)
    assert helps is not None and helps.limit == "unknown"
    text = roofline_sentences(helps)[-1]
    assert text.startswith("It only prepares or finishes what another kernel of its operator")
    lacking = marked(line, ("gemm",))
    assert lacking is not None and lacking.lacks_flops and not lacking.only_helps
    resnet = Comparison.open([SAMPLE.parent / "resnet50" / "eager"])
    names = [row.name for row in resnet.kernels if "init_device_workspace" in row.name]
    (told,) = dossier(resnet, kernel_item(names[0])).rooflines
    assert roofline_sentences(told)[-1] == text


def test_products_beside_other_kernels_are_held_against_their_own_time(
    comparison: Comparison,
) -> None:
    """403 MFLOP stood beside a group's 37.3 µs at 21.2 TFLOP/s: its products take 19.0 µs of it."""
    n_partly = 0
    for number in range(len(comparison.pairs[0].ledger.groups)):
        for line in dossier(comparison, group_item(1, number)).rooflines:
            if line.flops is None or line.flops_per_s is None:
                continue
            assert line.flops_per_s * line.products_ns == pytest.approx(line.flops * 1e9)
            text = " ".join(roofline_sentences(line))
            assert f"per step in {format_duration(line.products_ns)} of products: " in text
            n_partly += not line.is_all_products
    assert n_partly
    line = Roofline("default", 37_300, flops=403e6, flops_per_s=21.2e12, products_ns=19_000,
                    compute_share=0.32, units="fp32")  # fmt: skip
    assert kernel_answer([line], "products", "").endswith("fp32 peak, in its products alone.")
    at_limit = replace(line, compute_share=0.7)
    assert (at_limit.limit, replace(at_limit, products_ns=37_000).limit) == ("products", "compute")
    at_limit = replace(at_limit, device="H200")
    assert roofline_sentences(at_limit)[-1] == (
        "Its products are at the limit of the units that compute them; the rest of its time is of "
        "other kernels. Fewer or smaller products make it faster, or Tensor Cores, in a lower "
        "precision."
    )
    cast_beside = replace(line, products_ns=36_000)
    assert kernel_answer([cast_beside], "products", "").endswith("fp32 peak.")


def test_the_products_of_a_replay_have_the_operations_of_the_baseline(tmp_path: Path) -> None:
    """The replay of 1.85 GFLOP had no line of them, and a share of the memory's peak alone."""
    folder = SAMPLE.parent / "customcnn"
    replayed = folder / "reduce-overhead"
    comparison = Comparison.open([folder / "eager", replayed])
    n_computing = 0
    for number, group in enumerate(comparison.pairs[0].ledger.groups):
        before, after = (
            sum(k.time_ns for k in side.kernels if k.category in PRODUCT_CATEGORIES) / n
            for side, n in zip((group.baseline, group.candidate), group.n_steps, strict=True)
        )
        lines = dossier(comparison, group_item(1, number)).rooflines
        computed = [line.flops for line in lines if line.flops]
        assert computed == [line.flops for line in lines if before and after]
        assert len(set(computed)) <= 1
        if computed:
            assert [line.products_ns for line in lines] == pytest.approx([before, after], abs=1)
            n_computing += 1
    assert n_computing >= 3

    # In another precision the baseline's types are not the replay's.
    other = tmp_path / "reduce-overhead"
    shutil.copytree(replayed, other)
    run = json.loads((other / "run.json").read_text())
    run["spec"]["precision"] = "bf16-autocast"
    (other / "run.json").write_text(json.dumps(run))
    comparison = Comparison.open([folder / "eager", other])
    lines = [
        line
        for number in range(len(comparison.pairs[0].ledger.groups))
        for line in dossier(comparison, group_item(1, number)).rooflines
    ]
    assert {line.label for line in lines if line.flops} == {lines[0].label}


def test_not_every_call_fits_into_the_cache_where_the_average_one_does() -> None:
    """The batch norms of a ResNet-50 move 6 to 206 MB a call, 54 MB on average."""
    h200 = peaks_of("NVIDIA H200")
    traffic = Traffic(53 * 54_000_000, 1_262_000, 53, 53, largest_bytes=206_000_000)
    line = roofline("eager", h200, 1, traffic)
    assert line is not None and line.fits_cache is False
    text = " ".join(roofline_sentences(line))
    assert "The data of some calls fits into the L2 cache" in text
    assert "of the largest does not fit" in text


def test_where_the_other_side_moves_as_much_faster_the_memory_is_no_limit() -> None:
    """73 % of the peak was "at the memory's limit" beneath 91 % of the same bytes."""
    h200 = peaks_of("NVIDIA H200")
    sides = {}
    for label, n_bytes, share in (
        ("eager", 308_000_000, 0.91), ("default", 308_000_000, 0.73), ("fewer", 200_000_000, 0.91),
        ("near", 308_000_000, 0.84),
    ):  # fmt: skip
        time_ns = round(n_bytes / (share * h200.memory_bytes_per_s) * 1e9)
        sides[label] = roofline(label, h200, 1, Traffic(n_bytes, time_ns, 1, 1))
    limit = "At the memory's limit: only moving fewer bytes makes it faster."
    for own, other, is_limit in (
        ("default", "eager", False), ("eager", "default", True), ("default", "fewer", True),
        ("near", "eager", True),
    ):  # fmt: skip
        line = beside(sides[own], sides[other])
        text = roofline_sentences(line)
        assert (limit in text) is is_limit is (line.limit == "memory"), (own, other)
    told = beside(sides["default"], sides["eager"])
    assert "eager moves no fewer bytes at 91 % of the peak." in roofline_sentences(told)[-1]
    # It may move up to twice as much: then nothing is known.
    once = roofline_sentences(replace(told, counts_once=True))[-1]
    assert once.startswith("A tensor that it changes in place counts once")


def test_nothing_is_said_of_arithmetic_where_a_product_s_operations_are_not_known() -> None:
    """In a replay of ResNet-50 a GEMM was held back by neither; its FLOPs were counted nowhere."""
    runs = Comparison.open([BREAKY.parent / "resnet50" / "reduce-overhead"])
    kernel = next(row.name for row in runs.kernels if "xmma_gemm_f32f32_tf32" in row.name)
    (replayed,) = dossier(runs, kernel_item(kernel)).rooflines
    assert (replayed.label, replayed.flops, replayed.limit) == ("reduce-overhead", None, "unknown")
    text = " ".join(roofline_sentences(replayed))
    assert "whether arithmetic holds it back cannot be told" in text
    assert "Neither" not in text


def test_no_limit_is_told_from_bytes_that_may_be_half_of_what_is_moved() -> None:
    """A kernel in place of a bare trace was held back by latency; its log had it at 88 %."""
    h200 = peaks_of("NVIDIA H200")
    assert h200 is not None and h200.l2_bytes is not None
    n_bytes = 4 * h200.l2_bytes
    for share, limit in ((0.57, "unknown"), (0.30, "neither"), (0.75, "memory")):
        time_ns = round(n_bytes / h200.memory_bytes_per_s / share * 1e9)
        line = roofline("default", h200, 1, Traffic(n_bytes, time_ns, 1, 1, counts_once=True))
        assert line is not None and line.limit == limit
        text = " ".join(roofline_sentences(line))
        assert ("up to twice as much" in text) is (limit == "unknown")
        least = math.floor(100 * line.memory_share)
        assert f"{least} % or more of the memory's peak" in text
        assert kernel_answer([line], "", "relu").endswith("or more of the memory's bandwidth.")


def test_a_group_s_kernels_sum_to_its_time(comparison: Comparison) -> None:
    groups = comparison.pairs[0].ledger.groups
    for number in range(0, len(groups), 5):
        made = dossier(comparison, group_item(1, number))
        kernels = relation(made, "kernels").entries
        for side, time in enumerate(made.times):
            assert sum(k.times_ns[side] or 0.0 for k in kernels) == pytest.approx(time.time_ns)
        longest = [kernel.most_ns for kernel in kernels]
        assert longest == sorted(longest, reverse=True)


def test_the_largest_call_of_a_group_is_one_of_its_calls(comparison: Comparison) -> None:
    for group in comparison.pairs[0].ledger.groups:
        for side in (group.baseline, group.candidate):
            if side.bytes_moved is None or not side.n_calls:
                continue
            assert side.n_launching >= side.n_calls  # an operator's casts and biases are calls, too
            mean = side.bytes_moved / side.n_launching
            assert mean <= side.largest_bytes <= side.bytes_moved / 5  # of five steps
            if side.n_launching == 5:
                assert side.largest_bytes == mean


def test_copied_inputs_say_how_they_need_not_be_copied() -> None:
    comparison = Comparison.open([SAMPLE / "eager", SAMPLE / "reduce-overhead"])
    groups = comparison.pairs[0].ledger.groups
    told = {
        groups[number].title
        for number in range(len(groups))
        if "mark_static_address" in " ".join(dossier(comparison, group_item(1, number)).about)
    }
    assert told == {"_foreach_copy"}
    # Its operator and its kernel said no word of it.
    copy = next(group for group in groups if group.title == "_foreach_copy")
    (kernel,) = copy.candidate.kernels
    for item in (operator_item("aten::_foreach_copy_"), kernel_item(kernel.name)):
        what, how, *_ = dossier(comparison, item).about
        assert what == "It copies inputs into the CUDA graph's own memory."
        assert "mark_static_address" in how


def test_of_some_groups_that_copy_inputs_their_time_is_told() -> None:
    comparison = Comparison.open([SAMPLE / "eager", SAMPLE / "reduce-overhead"])
    groups = comparison.pairs[0].ledger.groups
    copy = next(group for group in groups if group.title == "_foreach_copy")
    (other, *_) = (group for group in groups if group.title != "_foreach_copy")
    what, _ = copies_about([copy, other, copy])
    took = format_duration(2 * copy.candidate_step_ns)
    assert what == (
        f"In 2 of its 3 fusion groups it copies inputs into the CUDA graph's own memory, in {took} "
        "per step."
    )
    assert copies_about([other]) == copies_about([]) == ()


def test_members_of_a_group_are_selectable_slowest_first() -> None:
    made_of = Comparison.open([ROOT / "sample_traces" / "bert" / v for v in ("eager", "default")])
    groups = made_of.pairs[0].ledger.groups
    number = next(alike for alike in fold(groups) if len(alike.numbers) > 2).numbers[0]
    members = relation(dossier(made_of, group_item(1, number)), "members").entries
    assert len(members) > 1
    assert all(member.item is not None for member in members)
    assert group_item(1, number) in {member.item for member in members}
    longest = [member.most_ns for member in members]
    assert longest == sorted(longest, reverse=True)
    for member in members[:2]:
        assert member.item is not None
        own = dossier(made_of, member.item)
        assert tuple(time.time_ns for time in own.times) == member.times_ns


def test_an_operator_has_the_time_of_its_groups(comparison: Comparison) -> None:
    made = dossier(comparison, operator_item("aten::convolution_backward"))
    groups = relation(made, "became").entries
    for side, time in enumerate(made.times):
        assert time.time_ns == pytest.approx(sum(g.times_ns[side] or 0.0 for g in groups))
    assert {entry.inputs for entry in made.arguments} == {
        "64×64×16×16 f32 · 64×32×16×16 f32 · 64×32×3×3 f32",
        "64×32×32×32 f32 · 64×3×32×32 f32 · 32×3×3×3 f32",
    }


def test_a_break_that_the_device_hides_costs_nothing_where_the_page_says_so() -> None:
    ddp = SAMPLE.parent / "ddp"
    made_of = Comparison.open([ddp / "eager", ddp / "default"])
    report = made_of.compilation_of(1)
    assert report is not None and report.break_cost is not None and report.break_cost.cost_ns == 0
    made = dossier(made_of, break_item(1, 0))
    assert made.answer == "It costs nothing: the device hides what the host does here."
    assert made.times[0].time_ns == 0
    assert not any("cost" in sentence for sentence in made.missing)


def test_an_operator_that_was_fused_takes_what_page_modules_says(comparison: Comparison) -> None:
    """Nothing launches aten::relu any more, and yet the candidate computes it: not "→ 0 ns"."""
    rows = [row for row in comparison.pairs[0].divided.operators if not row.is_only_in_candidate]
    fused = [row for row in rows if row.shared_ns[1] and row.step_ns(0)]
    assert len(fused) > 2
    for row in fused[:4]:
        made = dossier(comparison, operator_item(row.op))
        assert [time.time_ns for time in made.times] == [row.step_ns(0), row.step_ns(1)]
        assert "→ 0 ns" not in made.answer
        assert any("do the work of other operators too" in sentence for sentence in made.about)


def test_an_operator_lists_the_kernels_that_it_became(comparison: Comparison) -> None:
    """It named those of the baseline alone."""
    pair = comparison.pairs[0]
    row = next(row for row in pair.divided.operators if row.shared_ns[1] and row.step_ns(0))
    made = dossier(comparison, operator_item(row.op))
    (kernels,) = (part for part in made.relations if part.kind == "kernels")
    became: dict[str, float] = defaultdict(float)
    for number in row.groups:
        group = pair.ledger.groups[number]
        for kernel in group.candidate.kernels:
            became[kernel.name] += kernel.time_ns / pair.ledger.n_candidate_steps
    listed = {entry.title: entry for entry in kernels.entries if entry.times_ns[1] is not None}
    assert {name: entry.times_ns[1] for name, entry in listed.items()} == pytest.approx(became)
    assert any(name.startswith("triton_") for name in listed)
    for name, entry in listed.items():
        assert entry.item == kernel_item(name)
        assert dossier(comparison, kernel_item(name)).title == name
    # Beside them still what the operator itself launches in the baseline.
    assert any(entry.times_ns[0] for entry in kernels.entries)
    assert "may replace other operators too" in kernels.sentence


def test_an_event_leads_to_its_kernel_and_its_group(comparison: Comparison) -> None:
    trace = comparison.runs[1].required_trace()
    names = trace.device["name"].cast(pl.String).to_list()
    row = names.index(TRITON)
    made = dossier(comparison, event_item(1, "device", row))
    assert made.title == TRITON
    items = {entry.item for part in made.relations for entry in part.entries}
    assert kernel_item(TRITON) in items
    group = int(comparison.pairs[0].ledger.candidate_group[row])
    assert group_item(1, group) in items


def test_an_event_s_dossier_begins_with_its_own_run(comparison: Comparison) -> None:
    """That of an event of eager began with the shares that default's calls reach."""
    name = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n"
    answers = []
    for run in (0, 1):
        names = comparison.runs[run].required_trace().device["name"].cast(pl.String).to_list()
        row = next(n for n, kernel in enumerate(names) if kernel.startswith(name))
        made = dossier(comparison, event_item(run, "device", row))
        (line,) = (line for line in made.rooflines if line.label == comparison.labels[run])
        answers.append(made.answer)
        assert made.answer == kernel_answer([line], "matrix product", "GEMM")
    of_both = dossier(comparison, kernel_item(names[row])).answer
    assert answers[0] != answers[1] == of_both


def test_a_line_and_a_module_have_the_groups_that_lie_there(comparison: Comparison) -> None:
    groups = comparison.pairs[0].ledger.groups
    at_line = dossier(comparison, source_item("models.py:47"))
    own = [g for g in groups if any(label == "models.py:47" for label, _ in g.sources)]
    assert at_line.times[0].time_ns == pytest.approx(sum(g.baseline_step_ns for g in own))
    assert [line.label for line in at_line.sources] == ["models.py:47"]
    in_module = dossier(comparison, module_item("conv1"))
    own = [g for g in groups if g.module == "conv1"]
    assert in_module.times[1].time_ns == pytest.approx(sum(g.candidate_step_ns for g in own))


def test_a_line_says_what_else_its_groups_compute_and_what_it_may_lack() -> None:
    """3.57 µs of models.py:155 had the relu of line 154, and lack the copy of item()."""
    pair = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    made = dossier(pair, source_item("models.py:155"))
    (path,) = (BREAKY / "eager").glob("trace.json*")
    ns_of: dict[str, int] = defaultdict(int)
    for event in read_events(path):
        if event.get("cat") in ("kernel", "gpu_memcpy"):
            ns_of[event["name"]] += ns(event["dur"])
    summing = sum(n for name, n in ns_of.items() if "ReduceOp" in name)
    assert made.times[0].time_ns == pytest.approx(summing / 5)
    known = sum(group.baseline.time_ns for group in pair.pairs[0].ledger.groups if group.sources)
    unknown = format_duration((sum(ns_of.values()) - known) / 5)
    shared, lacking = made.about
    assert shared == (
        "Its fusion groups compute models.py:154 too: of what they take, listed whole below, a "
        "line has its part by what each took in the baseline."
    )
    assert lacking.startswith(f"Groups of which no line is known take {unknown} → ")


def test_a_slower_group_begins_with_the_kernels_that_make_it_slower() -> None:
    """331 ns of dynshape's linear were lost without a reason."""
    folder = ROOT / "sample_traces" / "dynshape"
    pair = Comparison.open([folder / "eager", folder / "reduce-overhead"])
    groups = pair.pairs[0].ledger.groups
    number = next(n for n, group in enumerate(groups) if group.title == "linear")
    first = dossier(pair, group_item(1, number)).about[0]
    assert first.startswith("Kernels that run on both sides take longer: gemmSN_TN")
    for kernel in groups[number].baseline.kernels:
        assert format_duration(kernel.time_ns / 12) in first


def test_the_code_of_a_module_begins_with_its_slowest_kernel(comparison: Comparison) -> None:
    """It began with `num_batches_tracked += 1`, 1.08 µs of norm1's 44."""
    made = dossier(comparison, module_item("norm1"))
    (kernels,) = (part for part in made.relations if part.kind == "kernels")
    times = {entry.title: entry.times_ns[1] or 0.0 for entry in kernels.entries}
    shown = [times[code.name] for code in made.generated]
    assert len(shown) > 5 and shown == sorted(shown, reverse=True)


def test_a_break_has_its_cost_its_line_and_what_to_change() -> None:
    breaky = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    report = breaky.compilation_of(1)
    assert report is not None and report.break_cost is not None
    costs = 0.0
    for number in range(len(report.log.graph_breaks)):
        made = dossier(breaky, break_item(1, number))
        costs += made.times[0].time_ns or 0.0
        assert made.advice is not None and made.advice.change
        assert made.sources[0].frame.line in made.sources[0].lines
        assert bool(made.missing) == (made.times[0].time_ns is None)
    assert costs == pytest.approx(report.break_cost.cost_ns)


def test_a_break_says_of_which_others_the_cost_is_not_known() -> None:
    """One of two had a cost, "of 25.5 µs that all breaks cost together"."""
    breaky = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    report = breaky.compilation_of(1)
    assert report is not None and report.break_cost is not None
    item, printed = (dossier(breaky, break_item(1, number)) for number in (0, 1))
    cost = format_duration(report.break_cost.cost_ns)
    assert item.answer == f"Costs {cost} per step; what the other break costs is not known."
    first, last = report.breaks
    prices = [replace(first, cost_ns=2000.0), replace(first, cost_ns=1000.0), last, last]
    assert break_answer(prices[0], prices, 3000.0) == (
        "Costs 2.00 µs per step, of 3.00 µs that 2 breaks cost together; what the other 2 cost is "
        "not known."
    )
    assert break_answer(prices[0], prices[:2], 3000.0) == (
        "Costs 2.00 µs per step, of 3.00 µs that all breaks cost together."
    )
    assert break_answer(first, [first], first.cost_ns) == f"Costs {cost} per step."
    assert printed.advice is not None and "print" in printed.advice.change


def test_a_break_says_once_how_often_it_was_met() -> None:
    breaky = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    priced, printed = (dossier(breaky, break_item(1, number)) for number in (0, 1))
    assert priced.about == ("Met once while compiling in 0/0.",)
    assert printed.answer.startswith("Print, met once while compiling in ")
    assert printed.about == ()


def test_a_break_has_no_advice_that_is_for_another() -> None:
    """Below the advice for a print the finding about both gave the one for `.item()`."""
    breaky = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    printed = dossier(breaky, break_item(1, 1))
    findings = (each.finding for each in printed.findings)
    (about_both,) = (finding for finding in findings if finding.key == "graph_breaks")
    assert about_both.advice == ""
    assert "capture_scalar_outputs" not in about_both.title


def test_bytes_that_are_not_known_are_not_called_estimates() -> None:
    known = {"has_arguments": True, "has_occupancy": True, "has_code": True, "is_generated": False}
    told = missing_of_kernel_runs(**known, has_traffic=True, has_counters=False)
    assert told == (NO_COUNTERS,)
    (told_once,) = missing_of_kernel_runs(**known, has_traffic=False, has_counters=False)
    assert told_once.startswith("Bytes against the roofline are not known")


def test_a_bare_trace_says_what_is_not_known() -> None:
    bare = Comparison.open([BARE])
    made = dossier(bare, kernel_item(bare.kernels[0].name))
    assert [time.label for time in made.times] == list(bare.labels)
    assert made.relations == ()
    assert any("takes a baseline and a candidate" in sentence for sentence in made.missing)
    assert any("no hardware counters" in sentence for sentence in made.missing)


@pytest.mark.parametrize(
    "item",
    [
        kernel_item("no such kernel"),
        operator_item("aten::no_such"),
        group_item(1, 10_000),
        group_item(7, 0),
        Item("group", "rubbish"),
        break_item(1, 0),
        event_item(1, "device", 10**8),
        Item("event", "1.rubbish.5"),
        Item("event", "١.device.٥"),
        module_item("no.such.module"),
        source_item("nobody.py:1"),
    ],
    ids=lambda item: item.text,
)
def test_what_is_not_there_is_said_in_one_sentence(comparison: Comparison, item: Item) -> None:
    with pytest.raises(NothingToAnalyse) as told:
        dossier(comparison, item)
    assert told.value.remedy


def test_a_finding_has_a_dossier_with_its_evidence() -> None:
    comparison = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    findings = comparison.pairs[0].findings
    assert findings
    for finding in findings:
        made = dossier(comparison, finding_item(1, finding.key))
        assert (made.kind, made.title) == ("finding", finding.title)
        linked = {entry.item for each in made.relations for entry in each.entries}
        assert linked == set(finding.items)
        text = " ".join((made.answer, *made.about))
        assert advice_text(finding) in text
        assert finding.evidence in text
        assert (made.page, made.filters) == (finding.page, finding.filters)  # a way on
        assert "no gain" not in made.answer
    breaks = next(f for f in findings if f.key == "graph_breaks")
    costs = relation(dossier(comparison, finding_item(1, breaks.key)), "breaks")
    report = comparison.compilation_of(1)
    assert report is not None
    assert [entry.times_ns[1] for entry in costs.entries] == [b.cost_ns for b in report.breaks]
    for item in (finding_item(1, "no such rule"), finding_item(7, breaks.key)):
        with pytest.raises(NothingToAnalyse):
            dossier(comparison, item)


def test_what_stands_out_in_a_run_alone_has_a_dossier_too() -> None:
    comparison = Comparison.open([BREAKY / "default"])
    findings = comparison.baseline.alone.findings
    assert findings
    made = dossier(comparison, finding_item(0, findings[0].key))
    assert made.title == findings[0].title
    assert all(len(each.heads) == 1 for each in made.relations)


def test_two_breaks_that_are_alike_have_an_address_each() -> None:
    comparison = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    report = comparison.compilation_of(1)
    assert report is not None
    first = report.breaks[0]
    twin = replace(first, event=replace(first.event))
    log = replace(report.log, graph_breaks=[*report.log.graph_breaks, twin.event])
    doubled = replace(report, log=log, breaks=(*report.breaks, twin))
    assert doubled.place_of(twin) == len(log.graph_breaks) - 1
    assert doubled.place_of(first) != doubled.place_of(twin)


def test_the_first_line_of_a_module_is_the_one_that_calls_it() -> None:
    """Line 349, the dropout that does nothing there, came before 350, which calls the norm."""
    runs = [ROOT / "sample_traces" / "bert" / variant for variant in ("eager", "default")]
    made = dossier(Comparison.open(runs), module_item("encoder.layer.0.output.LayerNorm"))
    assert "self.LayerNorm(" in made.sources[0].frame.code
    assert made.sources[0].label == "modeling_bert.py:350"


def test_kernels_of_a_layer_say_how_often_each_side_runs_them():
    """Layer 7 of BERT: one call of eager stood as five, which only the compiled side has."""
    bert = ROOT / "sample_traces" / "bert"
    pair = Comparison.open([bert / "eager", bert / "default"]).pairs[0]
    groups = [group for group in pair.ledger.groups if group.module.endswith("encoder.layer.7")]
    for entry in kernel_entries(groups or pair.ledger.groups):
        sides = [
            sum(
                kernel.n / group.n_steps[side]
                for group in (groups or pair.ledger.groups)
                for kernel in (group.baseline, group.candidate)[side].kernels
                if kernel.name == entry.title
            )
            for side in (0, 1)
        ]
        numbers = [number for number in dict.fromkeys(sides) if number]
        expected = " → ".join(f"{number:g}" for number in numbers)
        assert entry.note == ("" if expected == "1" else f"{expected} calls")
