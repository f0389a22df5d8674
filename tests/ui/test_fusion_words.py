"""What is said about a group, and where its generated code is found."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import get_args

import pytest

from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.dossier.generated import calls_of_group
from profiler_core.analysis.ledger.bandwidth import bandwidth
from profiler_core.analysis.ledger.group_modules import without_module
from profiler_core.analysis.ledger.match import Evidence
from profiler_core.analysis.ledger.result import GroupSide, KernelTime, Kind
from profiler_core.analysis.wording.groups import how_known, what_kind, what_slows
from profiler_core.model.inductor import CompiledGraph, GeneratedCall, InductorLog
from profiler_core.ui.fusion.coverage import coverage_sentence
from profiler_core.ui.fusion.table import source_cell
from profiler_core.ui.page import FirstLine
from tests.figures.many_groups import many_groups

GROUP = many_groups(1).groups[0]


def test_of_several_source_lines_the_first_is_named_and_the_others_are_counted():
    """Seen at 1280 px: "resnet.py:155, resnet.p"."""
    assert source_cell(["resnet.py:155", "resnet.py:158"]) == "resnet.py:155 +1"
    assert (source_cell(["resnet.py:155"]), source_cell([])) == ("resnet.py:155", "")


def test_the_first_line_of_a_page_breaks_at_no_cut_of_a_name():
    """ "most is saved in 12 × embedd…" ended a line."""
    drawn = []
    FirstLine(SimpleNamespace(html=drawn.append)).answer("Most in embedd…layer (−2 µs), <b>.")
    assert drawn == [
        "<p class=fs-question>Most in <span class=fs-whole>embedd…layer</span> (−2\u00a0µs), "
        "&lt;b&gt;.</p>"
    ]


@pytest.mark.parametrize("evidence", get_args(Evidence))
def test_every_evidence_is_said_in_words(evidence):
    sentence = how_known(replace(GROUP, evidence=(evidence,)))
    assert sentence.startswith("This match is sure: ")
    assert sentence != f"This match is sure: {evidence}."


def test_every_kind_without_counterpart_is_explained():
    for kind in get_args(Kind):
        if kind != "matched":
            assert what_kind(replace(GROUP, kind=kind)).endswith(".")


def side(**kernels: tuple[int, int]) -> GroupSide:
    """Of two steps; of each kernel its calls and its time, in ns."""
    times = tuple(KernelTime(name, "other", n, ns) for name, (n, ns) in kernels.items())
    return GroupSide(kernels=times, time_ns=sum(kernel.time_ns for kernel in times))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (side(copy=(2, 20_000)), side(cast=(2, 60_000)),
         "In place of copy (10.0 µs) runs cast (30.0 µs)."),
        (
            side(copy=(2, 20_000), mm=(2, 40_000)),
            side(mm=(2, 41_000), a=(2, 20_000), b=(2, 30_000), c=(2, 8_000), d=(2, 6_000)),
            "In place of copy (10.0 µs) run b (15.0 µs), a (10.0 µs), c (4.00 µs) and 1 more "
            "(3.00 µs).",
        ),
        (side(mm=(2, 40_000)), side(mm=(2, 40_000), cast=(2, 8_000)),
         "Beside the same kernels runs cast (4.00 µs)."),
        # What was exchanged did not lose.
        (side(copy=(2, 3_000), mm=(2, 40_000)), side(cast=(2, 2_800), mm=(2, 46_000)),
         "A kernel that runs on both sides takes longer: mm (20.0 µs → 23.0 µs)."),
        (side(mm=(2, 40_000), sum=(2, 4_000)), side(mm=(2, 46_000), sum=(4, 8_000)),
         "Kernels that run on both sides take longer: mm (20.0 µs → 23.0 µs) and sum (2.00 µs → "
         "4.00 µs, 1 → 2 calls)."),
        (side(copy=(2, 20_000)), side(cast=(2, 20_100)), ""),
        (side(copy=(2, 60_000)), side(cast=(2, 20_000)), ""),
    ],
)  # fmt: skip
def test_a_slower_group_says_which_kernels_make_it_slower(before, after, told):
    """A convolution lost 14.5 µs without a word: its copies took 29.9 µs and not 11.7."""
    group = replace(GROUP, kind="matched", baseline=before, candidate=after, n_steps=(2, 2))
    assert what_slows(group).replace("\u00a0", " ") == told


def test_calls_of_an_inference_graph_are_those_of_its_forward_region():
    calls = tuple(GeneratedCall(i, f"triton_{i}", "triton", i + 1) for i in range(3))
    log = InductorLog((CompiledGraph("0/0", "inference", calls),))
    side = replace(GROUP.candidate, calls=((0, 2),))
    ((graph, call),) = calls_of_group(log, replace(GROUP, candidate=side))
    assert (graph.compile_id, call.name) == ("0/0", "triton_2")


def test_calls_are_found_by_name_where_no_number_is_known():
    calls = (GeneratedCall(0, "triton_poi_fused_0", "triton", 1),)
    log = InductorLog((CompiledGraph("0/0", "forward", calls),))
    assert [call.index for _, call in calls_of_group(log, GROUP)] == [0]


def test_bandwidth_is_held_against_the_memory_only_beyond_the_cache():
    peaks = peaks_of("NVIDIA H200")
    large = replace(
        GROUP.baseline,
        n_events=5,
        time_ns=5 * 50_000,
        bytes_read=10**9 // 2,
        bytes_written=5 * 10**8,
    )
    found = bandwidth(large, 5, peaks)
    assert found.bytes_moved == 2 * 10**8
    assert found.bytes_per_s == pytest.approx(4e12)
    assert found.share == pytest.approx(4 / 4.8)
    assert found.at_peak
    small = replace(large, bytes_read=10**6, bytes_written=10**6, time_ns=500)
    assert bandwidth(small, 5, peaks).fits_cache
    assert not bandwidth(small, 5, peaks).at_peak
    # What the cache holds is not known: no claim on the page, and none in a finding.
    assert not bandwidth(large, 5, replace(peaks, l2_bytes=None)).at_peak
    assert bandwidth(large, 5, None).share is None
    assert bandwidth(GROUP.baseline, 5, peaks) is None


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ({}, "in 125 groups."),
        ({3: "only in the candidate", 4: "removed"}, "in 125 groups."),
        ({3: "only in the candidate", 4: "unmatched"}, "in 124 of 125 groups."),
    ],
)
def test_the_line_above_the_map_counts_the_groups_that_its_notes_count(kinds, words):
    """It said 123 groups, and a note below it "2 of 125 groups"."""
    ledger = many_groups(125)
    groups = tuple(
        replace(group, kind=kinds.get(number, "matched"), module=None if number in (7, 8) else "h")
        for number, group in enumerate(ledger.groups)
    )
    pair = SimpleNamespace(
        ledger=replace(ledger, groups=groups),
        labels=("eager", "default"),
        time_word="GPU time",
        numbers=SimpleNamespace(workloads_differ=False),
        precision_notes=(),
    )
    assert words in coverage_sentence(pair)
    (note,) = without_module(groups)
    assert re.match("2 of 125 groups have no module", note)


def test_a_note_of_fewer_groups_says_which_it_leaves_out():
    groups = (*many_groups(3).groups, replace(GROUP, phase="update"))
    (note,) = without_module([replace(groups[0], module=None), *groups[1:]])
    assert note.startswith("1 of 3 groups outside the optimizer has no module")
