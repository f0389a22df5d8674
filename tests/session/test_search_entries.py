"""What a comparison's search says of what it has found."""

from pathlib import Path

from profiler_core.session.comparison import Comparison
from profiler_core.session.search import search_index

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
BREAKY = SAMPLES / "breaky"


def test_a_kernel_is_found_and_told_by_the_word_for_its_kind() -> None:
    """ "triton_persistent_reduction" stood below it, which is a key."""
    comparison = Comparison.open([BREAKY / "eager", BREAKY / "default"])
    hits = search_index(comparison).search("triton fused", 10)
    kinds = {hit.detail for hit in hits if hit.kind == "kernel"}
    assert kinds
    assert all(kind.startswith("Triton ") for kind in kinds)


def test_memsets_lead_to_the_groups_that_have_them() -> None:
    """They are no kernels and have no dossier: "memset" matched nothing where there are 25."""
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
    assert {hit.kind for hit in hits} == {"group"}
    assert {hit.item.numbers[1] for hit in hits if hit.item.numbers} <= with_memsets


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
