"""Which part of a time lies beside collectives, by plain JSON of all ranks of the shipped job."""

import re
from bisect import bisect_right
from pathlib import Path
from typing import Any

import pytest

from profiler_core.analysis.item import group_item, kernel_item, module_item
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.units import format_share
from tests.reference import ns, read_events
from tests.session.test_operator_kernels import launched_in_steps

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "ddp"
VARIANTS = ("eager", "default")
SHOWN_RANK = 0  # it computes less, and others' kernels are held against its
Kind = tuple[str, ...]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return Comparison.open([SAMPLE / variant for variant in VARIANTS])


class PlainCall:
    """A kernel's call in a profiled step, by the trace's JSON."""

    def __init__(self, event: dict[str, Any], dims: str, collectives: list[tuple[int, int]]):
        begin, self.dur_ns = ns(event["ts"]), ns(event["dur"])
        self.ts_ns, self.name = begin, event["name"]
        self.kind = (self.name, str(event["args"]["grid"]), str(event["args"]["block"]), dims)
        end = begin + self.dur_ns
        first = max(0, bisect_right(collectives, (begin, 0)) - 1)
        self.beside_ns = sum(
            max(0, min(end, until) - max(begin, since))
            for since, until in collectives[first : first + 20]
        )


def calls_of(run: Path, rank: int) -> list[PlainCall]:
    """In the order of the device. Collectives of one rank follow each other in it."""
    (path,) = (run / "ranks" / str(rank) if rank else run).glob("trace.json*")
    events = read_events(path)
    launched, _ = launched_in_steps(events)
    dims = {
        e["args"]["External id"]: str(e["args"].get("Input Dims", ""))
        for e in events
        if e.get("cat") == "cpu_op" and "External id" in e.get("args", {})
    }
    kernels = [
        e for e in events if e.get("cat") == "kernel" and e["args"]["correlation"] in launched
    ]
    collectives = sorted(
        (ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in kernels if "nccl" in e["name"]
    )
    return [
        PlainCall(e, dims.get(e["args"].get("External id"), ""), collectives)
        for e in sorted(kernels, key=lambda e: e["ts"])
        if "nccl" not in e["name"]
    ]


def share_beside(calls: list[PlainCall]) -> float:
    """Of the time of calls what lies beside a collective."""
    return sum(call.beside_ns for call in calls) / sum(call.dur_ns for call in calls)


@pytest.fixture(scope="module")
def by_variant() -> dict[str, tuple[list[PlainCall], set[Kind]]]:
    """The shown rank's calls, and the kinds of which any rank runs a call alone."""
    found = {}
    for variant in VARIANTS:
        ranks = [calls_of(SAMPLE / variant, rank) for rank in (0, 1)]
        alone = {call.kind for calls in ranks for call in calls if not call.beside_ns}
        found[variant] = ranks[SHOWN_RANK], alone
    return found


def told_of(about: tuple[str, ...]) -> dict[str, str]:
    """Label of a run -> the share that a dossier says of it."""
    text = next((text for text in about if text.startswith("Collectives run beside ")), "")
    told = re.findall(r"([<>]? ?\d+ %)(?: of its time)? in (\w+)", text)
    return {label: share.strip() for share, label in told}


def test_a_kernel_says_which_part_of_its_time_lies_beside_collectives(comparison, by_variant):
    """Of kernels that some rank runs alone the cost is known, and times are that."""
    n_told = 0
    for name in {call.name for calls, _ in by_variant.values() for call in calls}:
        told = told_of(dossier(comparison, kernel_item(name)).about)
        for variant, (calls, alone) in by_variant.items():
            own = [call for call in calls if call.name == name]
            n_known = sum(call.kind in alone for call in own)
            if n_known == len(own):
                assert variant not in told, name
            elif not n_known:
                share = share_beside(own)
                n_told += share > 0.1
                assert told.get(variant) == (format_share(share) if share > 0.1 else None), name
    assert n_told > 20


def test_a_group_of_calls_that_hardly_lie_beside_one_does_not_say_so(comparison, by_variant):
    """The last layer's GELU has one beside 5 % of eager's calls: its cost counted as unknown."""
    (pair,) = comparison.pairs
    starts = ("void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackward",
              "triton_poi_fused_gelu_gelu_backward_view_0")  # fmt: skip
    groups = [
        (number, group)
        for number, group in enumerate(pair.ledger.groups)
        if any(kernel.name.startswith(starts) for kernel in group.candidate.kernels)
    ]
    by_time = []
    for (calls, _), start in zip(by_variant.values(), starts, strict=True):
        own = [call for call in calls if call.name.startswith(start)]
        layers = [own[layer :: len(groups)] for layer in range(len(groups))]
        by_time.append({sum(c.dur_ns for c in layer): share_beside(layer) for layer in layers})
    for number, group in groups:
        told = told_of(dossier(comparison, group_item(1, number)).about)
        shares = [
            shares[side.time_ns]
            for shares, side in zip(by_time, (group.baseline, group.candidate), strict=True)
        ]
        assert told == {
            variant: format_share(share)
            for variant, share in zip(VARIANTS, shares, strict=True)
            if share > 0.1
        }
    assert min(shares for of_run in by_time for shares in of_run.values()) < 0.1, "shows nothing"


def test_attention_s_backward_lies_beside_collectives_and_no_forward_does(comparison):
    """It was "slower by 56.7 µs", by how much of it lay beside an all-reduce."""
    (pair,) = comparison.pairs
    names = set()
    for number, group in enumerate(pair.ledger.groups):
        told = told_of(dossier(comparison, group_item(1, number)).about)
        if any(kernel.name.startswith("fmha_cutlassB") for kernel in group.candidate.kernels):
            names.add(group.title)
            assert set(told) == set(VARIANTS), group.title
        elif group.phase == "forward":
            assert not told, group.title
    assert names


def test_a_module_says_it_of_its_groups_together(comparison):
    """The optimizer's step begins when all gradients are there: no collective runs beside it."""
    told = {
        path: set(told_of(dossier(comparison, module_item(path)).about))
        for path in ("qkv", "norm2", "(optimizer)")
    }
    assert told == {"qkv": set(VARIANTS), "norm2": set(VARIANTS), "(optimizer)": set()}
