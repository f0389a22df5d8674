"""A kernel's dossier and those of its fusion groups say the same of the memory's limit."""

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.dossier.roofline import Roofline, beside, in_groups
from profiler_core.analysis.finding_rules.memory import memory_roof
from profiler_core.analysis.item import group_item, kernel_item
from profiler_core.analysis.wording.roofline import roofline_sentences
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
GELU_BACKWARD = "triton_poi_fused_gelu_gelu_backward_view_0"
AT_LIMIT, NOT_AT_LIMIT = "At the memory's limit", "is not at the memory's limit"


def claims(lines: tuple[Roofline, ...]) -> dict[str, tuple[bool, bool]]:
    """Label of a run -> is it said to be at the memory's limit, and is it said not to be?"""
    texts = {line.label: " ".join(roofline_sentences(line)) for line in lines}
    return {label: (AT_LIMIT in text, NOT_AT_LIMIT in text) for label, text in texts.items()}


def disagreements(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Kernel, run and group of which one is at the memory's limit and the other is not."""
    found = []
    for row in comparison.kernels:
        of_kernel = claims(dossier(comparison, kernel_item(row.name)).rooflines)
        if not any(any(claim) for claim in of_kernel.values()):
            continue
        for pair in comparison.pairs:
            for number, group in enumerate(pair.ledger.groups):
                for label, side in zip(pair.labels, (group.baseline, group.candidate), strict=True):
                    if {kernel.name for kernel in side.kernels} != {row.name}:
                        continue
                    of_group = claims(
                        dossier(comparison, group_item(pair.number + 1, number)).rooflines
                    )
                    is_at, is_not = of_kernel.get(label, (False, False))
                    at_group, not_group = of_group.get(label, (False, False))
                    if (is_at and not_group) or (is_not and at_group):
                        found.append((row.name, label, group_item(pair.number + 1, number).key))
    return found


def opened(folder: Path) -> Comparison:
    runs = sorted(path for path in folder.iterdir() if path.is_dir())
    return Comparison.open(sorted(runs, key=lambda run: not run.name.startswith("eager")))


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_and_its_groups_agree(name: str) -> None:
    """GELU's backward was at the limit, and its five groups were not: eager is faster there."""
    assert not disagreements(opened(SAMPLES / name))


def test_what_runs_beside_collectives_is_not_held_against_the_memory() -> None:
    """90 % of its time has one beside it, so that it may be faster with no byte less."""
    comparison = opened(SAMPLES / "ddp")
    (line,) = dossier(comparison, kernel_item(GELU_BACKWARD)).rooflines
    assert line.limit == "unknown"
    assert line.memory_share is not None and line.memory_share > 0.7, "else this shows nothing"
    assert roofline_sentences(line)[-1] == (
        "Collectives run beside 90 % of this time, so it does not say what limits it alone."
    )


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Without the other rank nothing tells what collectives slow, and times are as recorded."""
    folder = tmp_path_factory.mktemp("one rank")
    for variant in ("eager", "default"):
        ignored = shutil.ignore_patterns("ranks")
        shutil.copytree(SAMPLES / "ddp" / variant, folder / variant, ignore=ignored)
    return opened(folder)


def test_a_kernel_that_some_of_its_groups_outpace_says_in_how_many(one_rank: Comparison) -> None:
    (line,) = dossier(one_rank, kernel_item(GELU_BACKWARD)).rooflines
    told = roofline_sentences(line)[-1]
    (pair,) = one_rank.pairs
    texts = [
        roofline_sentences(dossier(one_rank, group_item(1, number)).rooflines[1])[-1]
        for number, group in enumerate(pair.ledger.groups)
        if {kernel.name for kernel in group.candidate.kernels} == {GELU_BACKWARD}
    ]
    n_not = sum(NOT_AT_LIMIT in text for text in texts)
    assert 0 < n_not < len(texts) == 6
    assert told.startswith(
        f"In {n_not} of the 6 fusion groups that it runs alone in it is not at the memory's limit: "
        "there eager moves no fewer bytes at "
    )
    assert line.limit == "unknown"


def test_a_kernel_that_all_of_its_groups_outpace_is_at_no_limit() -> None:
    slow = Roofline("default", 30_000, 100e6, 3.4e12, 0.71, fits_cache=False, device="H200")
    fast = replace(slow, label="eager", time_ns=26_000, bytes_per_s=3.9e12, memory_share=0.81)
    of_group = beside(slow, fast)
    assert of_group is not None and of_group.outpaced_by == fast
    whole = in_groups(slow, [of_group, of_group])
    assert roofline_sentences(whole) == roofline_sentences(of_group)
    assert in_groups(slow, [slow]) == slow


def test_the_finding_leaves_out_what_runs_beside_collectives() -> None:
    """Its groups were at the limit there, and their dossiers said that this is not known."""
    (pair,) = Comparison.open([SAMPLES / "resnet50" / run for run in ("eager", "default")]).pairs
    trace = pair.candidate.required_trace()
    facts = SimpleNamespace(
        ledger=pair.ledger,
        peaks=peaks_of("NVIDIA H200"),
        on_gpu=True,
        step_ns=pair.ledger.candidate_ns / pair.ledger.n_candidate_steps,
        group_items=tuple,
        trace=trace,
        span=pair.ledger.span,
        shares_beside=None,
    )
    found = memory_roof(facts)
    assert found is not None and len(found.items) > 1
    facts.shares_beside = np.zeros(trace.device.height)
    assert memory_roof(facts) == found
    facts.shares_beside[pair.ledger.candidate_group == found.items[0]] = 0.5
    others = memory_roof(facts)
    assert others is None or others.items == found.items[1:]
    facts.shares_beside[:] = 1.0
    assert memory_roof(facts) is None
