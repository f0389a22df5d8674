"""What a comparison's search says of what it has found."""

import gzip
import pickle
from pathlib import Path

import pytest

from profiler_core.analysis.item import source_item
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.session.search import search_index
from profiler_core.units import format_bytes

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
BREAKY = SAMPLES / "breaky"


def test_a_kernel_is_found_and_told_by_the_word_for_its_kind() -> None:
    """ "triton_persistent_reduction" stood below it, which is a key."""
    comparison = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    hits = search_index(comparison).search("triton fused", 10)
    kinds = {hit.detail for hit in hits if hit.kind == "kernel"}
    assert kinds
    assert all(kind.startswith("Triton ") for kind in kinds)


def test_memsets_lead_to_their_dossier_and_to_the_groups_that_have_them() -> None:
    """They are no kernels: "memset" matched nothing where there are 25, then groups alone."""
    bert = SAMPLES / "bert"
    comparison = Comparison.open([bert / "eager", bert / "default"])
    hits = search_index(comparison).search("memset", 24)
    groups = comparison.pairs[0].ledger.groups
    with_memsets = {
        number
        for number, group in enumerate(groups)
        if any(k.category == "memset" for k in (*group.baseline.kernels, *group.candidate.kernels))
    }
    assert hits
    assert [hit.title for hit in hits if hit.kind == "copy"] == ["Memset (Device)"]
    assert {hit.kind for hit in hits} == {"copy", "group"}
    in_groups = {hit.item.numbers[1] for hit in hits if hit.kind == "group"}
    assert in_groups
    assert in_groups <= with_memsets


def test_a_group_has_its_time_on_both_sides() -> None:
    comparison = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    groups = [hit for hit in search_index(comparison).entries if hit.kind == "group"]
    assert groups
    assert all(len(hit.sides_ns) == 2 and max(hit.sides_ns) == hit.step_ns for hit in groups)


def test_what_to_try_next_finds_the_findings() -> None:
    """ "Nothing in these runs matches" stood there, then the page that was open already."""
    comparison = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    hits = search_index(comparison).search("what should I try next", 10)
    assert len(hits) > 1
    assert {hit.kind for hit in hits} == {"finding"}


def held_at_the_peak(variant: str, file: str, line: int) -> int:
    """Bytes of a snapshot's peak whose stack has a line, by the pickle alone."""
    (path,) = (SAMPLES / "bert" / variant).glob("memory_snapshot*")
    (changes,) = pickle.loads(gzip.decompress(path.read_bytes()))["device_traces"]
    alive: dict[int, tuple[int, bool]] = {}
    level = most = held = 0
    for change in changes:
        if change["action"] == "alloc":
            frames = change["frames"]
            is_its = any(f["filename"].endswith(file) and f["line"] == line for f in frames)
            alive[change["addr"]] = change["size"], is_its
            level += change["size"]
        elif change["action"] == "free_requested":
            level -= change["size"]
            alive.pop(change["addr"], None)
        if level > most:
            most, held = level, sum(size for size, is_its in alive.values() if is_its)
    return held


def test_a_line_that_only_calls_others_is_found_as_memory_shows_it() -> None:
    """ "modeling_bert.py:408" stood on the page Memory, and nothing in these runs matched it."""
    bert = SAMPLES / "bert"
    comparison = Comparison.open([bert / "eager", bert / "default"])
    index = search_index(comparison)
    for query in ("modeling_bert.py:408", "modeling_bert.py:408 forward"):
        assert [hit.item for hit in index.search(query, 5)] == [source_item("modeling_bert.py:408")]
    # A line of fusion groups too, by its function, before the groups that it is of.
    assert index.search("modeling_bert.py:335 forward", 5)[0].item == (
        source_item("modeling_bert.py:335")
    )
    told = dossier(comparison, source_item("modeling_bert.py:408"))
    held = [
        format_bytes(held_at_the_peak(variant, "/modeling_bert.py", 408))
        for variant in ("eager", "default")
    ]
    assert held == ["28.3 MB", "15.7 MB"]
    assert f"{held[0]} in eager and {held[1]} in default" in told.answer
    (called,) = told.relations
    assert {entry.title for entry in called.entries} == {
        "activations.py:89", "modeling_bert.py:335", "modeling_bert.py:348", "modeling_bert.py:350",
    }  # fmt: skip
    own = dossier(comparison, source_item("modeling_bert.py:335"))
    first = next(entry for entry in called.entries if entry.title == "modeling_bert.py:335")
    assert first.times_ns == tuple(time.time_ns for time in own.times)
    assert not told.times
    assert told.missing


VARIANTS = ("eager", "default", "reduce-overhead")


def test_of_three_runs_a_time_says_of_which_it_is() -> None:
    """13.7 µs of linear were eager's, 1.32 of sigmoid default's, 2.02 of a kernel the third's."""
    comparison = Comparison.open([BREAKY / variant for variant in VARIANTS])
    shown = comparison.pairs[comparison.shown_first]
    between = " → ".join(shown.labels)
    entries = search_index(comparison).entries
    operators = {row.op: row for row in shown.divided.operators}
    for entry in entries:
        is_inner = entry.kind == "operator" and entry.detail not in operators
        is_timed = entry.step_ns is not None  # a line that only calls others is not
        if entry.kind in ("operator", "kernel", "source line") and is_timed and not is_inner:
            assert len(entry.sides_ns) == 2
            assert entry.runs.startswith("eager → ")
        if entry.kind == "operator" and entry.runs == between and entry.detail in operators:
            row = operators[entry.detail]
            assert entry.sides_ns == (row.step_ns(0), row.step_ns(1))
    inner = {e.detail for e in entries if e.kind == "operator"} - operators.keys()
    assert inner >= {"aten::addmm", "aten::mm"}  # that linear calls, or compiled code itself
    kernels = {entry.title: entry for entry in entries if entry.kind == "kernel"}
    triton = kernels["triton_red_fused_addmm_relu_sum_0"]
    (row,) = [row for row in comparison.kernels if row.name == triton.title]
    assert (triton.sides_ns, triton.runs) == ((0.0, row.time_ns(shown.number + 1)), between)
    (copy,) = [entry for name, entry in kernels.items() if "multi_tensor_apply" in name]
    assert copy.runs == "eager → reduce-overhead"  # default has none


def test_a_module_that_one_run_does_not_tell_has_the_time_of_the_other() -> None:
    """Half of eager's time is in modules that no file names."""
    comparison = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    assert comparison.pairs[0].divided.modules.untold_side == 0
    entries = [e for e in search_index(comparison).entries if e.kind == "module"]
    first = next(e for e in entries if e.title == "first")
    assert (first.sides_ns, first.runs) == ((), "default")
    (group,) = [g for g in comparison.pairs[0].ledger.groups if g.module == "first"]
    assert first.step_ns == group.candidate_step_ns


def test_times_of_two_runs_need_no_names() -> None:
    comparison = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    rows = {row.op for row in comparison.pairs[0].divided.operators}
    told = [
        e
        for e in search_index(comparison).entries
        if e.kind == "kernel" or (e.kind == "operator" and e.detail in rows)
    ]
    assert told
    assert all(len(entry.sides_ns) == 2 and not entry.runs for entry in told)


LOGS = Path(__file__).resolve().parents[1] / "fixtures" / "torch_logs" / "2.15.0"


@pytest.mark.parametrize(
    "query",
    ["script.py:63", "builtin operator loop_break", "GB0059 script.py:63", "break loop_break"],
)
def test_a_skipped_frame_is_found_as_a_break_is(query: str) -> None:
    """ "tiny.py:17" and "GB0124" matched nothing: a frame that is lost whole had no entry."""
    comparison = Comparison.open([LOGS / "b2_break_places"])
    hit = search_index(comparison).search(query, 5)[0]
    assert (hit.kind, hit.title, hit.item.text) == (
        "skipped frame", "print · project/script.py:63", "skip:0.0",
    )  # fmt: skip
    assert "loop_break runs eager: Failed to trace builtin operator" in hit.detail
    made = dossier(comparison, hit.item)
    assert made.answer.startswith("loop_break runs eager in every step because of a break in it")
    assert made.advice is not None and "Dynamo cannot resume" in made.advice.change
    assert [source.frame.line for source in made.sources] == [63]
    assert made.missing  # what it loses: nothing was timed


def test_a_break_is_found_by_its_number_and_its_hint() -> None:
    comparison = Comparison.open([LOGS / "b2_break_places"])
    report = comparison.compilation_of(0)
    assert report is not None
    (broken,) = (b for b in report.breaks if b.place.line == 11)
    for words in (f"{broken.event.gb_id} :11", broken.event.hints[0]):
        assert broken.title in {hit.title for hit in search_index(comparison).search(words, 9)}
