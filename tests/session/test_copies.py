"""Copies and memsets have a dossier, are found, and are linked, as kernels are.

The judge reads the traces as plain JSON: the events of what the profiled steps launched.
"""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.dossier.copies import copied, way_of
from profiler_core.analysis.item import event_item, kernel_item
from profiler_core.analysis.wording.copies import why_slow
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.session.search import search_index
from profiler_core.ui.dossier.draw import dossier_html
from tests.apps import opened, text_of

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
RESNET = [
    SAMPLES / "resnet50-bf16" / f"{mode}+bf16-autocast+channels_last"
    for mode in ("eager", "reduce-overhead")
]
BERT = [SAMPLES / "bert" / mode for mode in ("eager", "default")]
DTOD, MEMSET = "Memcpy DtoD (Device -> Device)", "Memset (Device)"
UNKNOWN = "Memset (Unknown)"


def launched(folder: Path, *categories: str) -> tuple[list[dict[str, Any]], int]:
    """The device events of these categories that the profiled steps launched; number of steps."""
    events = json.loads(gzip.decompress((folder / "trace.json.gz").read_bytes()))["traceEvents"]
    steps = [
        event for event in events
        if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep")
    ]  # fmt: skip
    begins, ends = min(e["ts"] for e in steps), max(e["ts"] + e["dur"] for e in steps)
    calls = {
        event["args"]["correlation"] for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and begins <= event["ts"] < ends
    }  # fmt: skip
    work = [
        event for event in events
        if event.get("cat") in categories and event["args"]["correlation"] in calls
    ]  # fmt: skip
    return work, len(steps)


@pytest.mark.parametrize(
    ("runs", "side", "name", "n_per_step", "n_passes"),
    [(RESNET, 0, DTOD, 53, 2), (RESNET, 0, MEMSET, 7, 1), (BERT, 1, MEMSET, 48, 1)],
)
def test_a_copy_s_dossier_has_its_calls_bytes_and_bandwidth(
    runs: list[Path], side: int, name: str, n_per_step: int, n_passes: int
) -> None:
    """ "Why is a memcpy slow?" ended at a table without copies, and at names without a link."""
    work, n_steps = launched(runs[side], "gpu_memcpy", "gpu_memset")
    calls = [event for event in work if event["name"] == name]
    assert len(calls) == n_per_step * n_steps
    comparison = Comparison.open(runs)
    made = dossier(comparison, kernel_item(name))
    assert made.kind == ("copy" if name == DTOD else "memset")
    time, other = made.times[side], made.times[1 - side]
    time_ns = 1000 * sum(event["dur"] for event in calls)
    assert time.n == n_per_step
    assert time.time_ns == pytest.approx(time_ns / n_steps, abs=len(calls))
    elsewhere, n_steps_elsewhere = launched(runs[1 - side], "gpu_memcpy", "gpu_memset")
    n_elsewhere = sum(name == {UNKNOWN: MEMSET}.get(e["name"], e["name"]) for e in elsewhere)
    assert (other.n or 0) == n_elsewhere / n_steps_elsewhere
    line = made.rooflines[0 if side == 0 or not n_elsewhere else 1]
    assert line.label == time.label
    n_bytes = n_passes * sum(event["args"]["bytes"] for event in calls)
    assert line.bytes_moved == n_bytes / n_steps
    peaks = peaks_of("NVIDIA H200")
    assert peaks is not None
    rate = n_bytes / (time_ns * 1e-9)
    assert line.memory_share == pytest.approx(rate / peaks.memory_bytes_per_s, rel=1e-3)
    assert ("reads and writes each byte" in " ".join(made.about)) == (name == DTOD)


def test_where_the_bytes_are_few_the_dossier_says_that_calls_are_what_takes_time() -> None:
    few = dossier(Comparison.open(RESNET), kernel_item(DTOD))
    alone = Comparison.open(RESNET[:1])
    many = dossier(alone, kernel_item(MEMSET))  # one of them sets 25.7 MB
    sentence = "In eager a call is of 2.00 kB and takes 1.03 µs, of which its bytes need less than"
    assert any(text.startswith(sentence) for text in few.about)
    assert not any("Fewer calls help" in text for text in many.about)


def test_of_calls_that_take_long_for_their_bytes_no_reason_is_told() -> None:
    """What any call takes is a few microseconds: it does not explain a longer one."""
    comparison = Comparison.open(RESNET)
    (line,) = dossier(comparison, kernel_item(DTOD)).rooflines
    copies = copied(comparison.runs[0].required_trace(), DTOD)
    assert copies is not None
    assert "Fewer calls help" in why_slow(line, replace(copies, time_ns=10_000 * copies.n))
    assert why_slow(line, replace(copies, time_ns=10_001 * copies.n)) == ""


def test_it_leads_to_operators_groups_modules_and_its_longest_call() -> None:
    comparison = Comparison.open(RESNET)
    made = dossier(comparison, kernel_item(DTOD))
    (operators,) = (part for part in made.relations if part.kind == "operators")
    assert [entry.title for entry in operators.entries] == ["aten::batch_norm"]
    assert operators.entries[0].note == "starts 53 → 0 copies and memsets"
    (became,) = (part for part in made.relations if part.kind == "became")
    ledger = comparison.pairs[0].ledger
    having = [g for g in ledger.groups if any(k.name == DTOD for k in g.baseline.kernels)]
    assert len(became.entries) + became.n_left_out == len(having)
    assert "bn1" in made.modules
    calls = [e for e in launched(RESNET[0], "gpu_memcpy")[0] if e["name"] == DTOD]
    (event,) = made.on_timeline
    device = comparison.baseline.required_trace().device
    longest_us = max(call["dur"] for call in calls)
    assert device["dur_ns"][event.row] == pytest.approx(1000 * longest_us, abs=1)
    of_event = dossier(comparison, event_item(0, event.table, event.row))
    (whole, *_) = (part for part in of_event.relations if part.kind == "kernels")
    assert whole.entries[0].item == kernel_item(DTOD)


def test_the_dossiers_of_groups_and_operators_link_it() -> None:
    comparison = Comparison.open(RESNET)
    made = dossier(comparison, kernel_item(DTOD))
    of_each_kind = [part.entries[0].item for part in made.relations]
    assert len(of_each_kind) == 2
    for item in of_each_kind:
        assert item is not None
        assert f'data-item="{kernel_item(DTOD).text}"'.replace(">", "&gt;") in dossier_html(
            dossier(comparison, item)
        )


def test_a_search_finds_it_first() -> None:
    first, *others = search_index(Comparison.open(RESNET)).search("memcpy", 12)
    assert (first.kind, first.title, first.item) == ("copy", DTOD, kernel_item(DTOD))
    assert {hit.kind for hit in others} == {"group"}
    work, n_steps = launched(RESNET[0], "gpu_memcpy")
    step_ns = 1000 * sum(event["dur"] for event in work) / n_steps
    assert first.sides_ns == pytest.approx((step_ns, 0.0), abs=100)


def test_kernels_lists_it_and_does_not_count_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    kernels, n_steps = launched(RESNET[0], "kernel")
    keys = [f"sample/resnet50-bf16/{folder.name}" for folder in RESNET]
    page = opened("kernels", baseline=keys[0], candidate=keys[1], q="mem")
    shown = page.dataframe[0].value
    by_name = dict(
        zip(shown["whole"], zip(shown["n0"], shown["category"], strict=True), strict=True)
    )
    assert by_name[DTOD] == (53, "memcpy")
    assert by_name[MEMSET] == (7, "clearing memory")
    text = text_of(page)
    assert f"{len(kernels) // n_steps} → 165 kernels per step" in text
    assert "They are no kernels: the counts above leave them out." in text


def test_the_name_says_which_way_it_goes() -> None:
    ways = [
        way_of("Memcpy HtoD (Pageable -> Device)", is_memset=False),
        way_of("Memcpy DtoH (Device -> Pinned)", is_memset=False),
        way_of("Memcpy PtoP (Device -> Device)", is_memset=False),
        way_of("Memset (Unknown)", is_memset=True),
        way_of("Memset (Pinned)", is_memset=True),
    ]
    assert ways == ["host to device", "device to host", "elsewhere", "cleared", "elsewhere"]


def test_memsets_of_a_replay_are_those_of_a_run_without_graphs() -> None:
    """CUPTI calls the same memsets "Memset (Unknown)" there: two rows, one of them gone."""
    numbers = {side: len(launched(folder, "gpu_memset")[0]) for side, folder in enumerate(RESNET)}
    n_steps = [launched(folder, "gpu_memset")[1] for folder in RESNET]
    assert {event["name"] for event in launched(RESNET[1], "gpu_memset")[0]} == {UNKNOWN}
    comparison = Comparison.open(RESNET)
    (row,) = [row for row in comparison.copies if row.category == "memset"]
    assert row.name == MEMSET
    assert [row.n(side) for side in (0, 1)] == [n / n_steps[side] for side, n in numbers.items()]
    for name in (MEMSET, UNKNOWN):
        assert [time.n for time in dossier(comparison, kernel_item(name)).times] == [
            row.n(0),
            row.n(1),
        ]
        hits = search_index(comparison).search(name, 24)
        assert [hit.title for hit in hits if hit.kind == "copy"] == [MEMSET]
