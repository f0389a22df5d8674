"""Why a first convolution is slow, told alike by its kernel and by both sides of its group.

resnet50-bf16: eager's group said to pad the 3 channels, its kernel and the candidate's group that
the data fits into the cache, of the same kernel at 4 % of what the units compute.
"""

from pathlib import Path

import pytest

from profiler_core.analysis.item import group_item, kernel_item
from profiler_core.analysis.wording.roofline import roofline_sentences
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.session.dossier.rooflines import PairRooflines

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
MODES = ("eager", "default", "reduce-overhead")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    folder = SAMPLES / "resnet50-bf16"
    return Comparison.open([folder / f"{mode}+bf16-autocast+channels_last" for mode in MODES])


def test_a_kernel_and_both_sides_of_its_group_say_the_same(comparison: Comparison) -> None:
    told = set()
    for pair in comparison.pairs:
        number = next(n for n, g in enumerate(pair.ledger.groups) if g.module == "conv1")
        sides = dossier(comparison, group_item(pair.number + 1, number)).rooflines
        assert len(sides) == 2
        told |= {roofline_sentences(line)[-1] for line in sides}
    kernels = comparison.pairs[0].ledger.groups[number].baseline.kernels
    longest = max(kernels, key=lambda kernel: kernel.time_ns)
    lines = dossier(comparison, kernel_item(longest.name)).rooflines
    assert len(lines) == len(MODES)
    told |= {roofline_sentences(line)[-1] for line in lines}
    (sentence,) = told
    assert sentence.startswith("The data of one call fits into the L2 cache")
    assert sentence.endswith("such as pad the 3 channels of its convolution.")


def test_channels_are_told_of_convolutions_that_have_few(comparison: Comparison) -> None:
    pair = comparison.pairs[0]
    rooflines = PairRooflines(comparison, pair)
    about_channels = {
        group.module
        for number, group in enumerate(pair.ledger.groups)
        for line in rooflines.lines(number)
        if line is not None and "channel" in " ".join(roofline_sentences(line))
    }
    assert about_channels == {"conv1"}
