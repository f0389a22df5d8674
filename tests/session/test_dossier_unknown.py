"""What a dossier does not know, and why: a reason is of the files that are there."""

import gzip
import re
from pathlib import Path

import pytest

from profiler_core.analysis.dossier.record import Dossier
from profiler_core.analysis.item import Item, group_item, kernel_item, operator_item
from profiler_core.analysis.wording.dossier import (
    missing_of_group,
    missing_of_kernel_groups,
    missing_of_operator,
)
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_traces" / "customcnn"
BARE = ROOT / "tests" / "fixtures" / "captures"


@pytest.fixture(scope="module")
def replayed() -> Comparison:
    return Comparison.open([SAMPLE / "eager", SAMPLE / "reduce-overhead"])


def test_a_convolution_without_its_stride_says_why_its_bytes_are_not_known(tmp_path: Path) -> None:
    """They are the trace's "Concrete Inputs": with them the bytes are known."""
    folder = SAMPLE.parent / "resnet50-bf16"
    eager, default = (folder / f"{m}+bf16-autocast+channels_last" for m in ("eager", "default"))
    text = gzip.decompress((eager / "trace.json.gz").read_bytes())
    (tmp_path / "eager").mkdir()
    (tmp_path / "eager" / "trace.json.gz").write_bytes(
        gzip.compress(text.replace(b'"Concrete Inputs"', b'"Left out"'), compresslevel=1)
    )
    for run, is_known in ((eager, True), (tmp_path / "eager", False)):
        comparison = Comparison.open([run, default])
        names = [row.name for row in comparison.kernels]
        (name,) = (name for name in names if "fprop_optimized_bf16_256x64" in name)
        made = dossier(comparison, kernel_item(name))
        known = [line.bytes_moved is not None for line in made.rooflines]
        assert known == ([True, True] if is_known else [True])
        whys = [each for each in made.missing if each.startswith("Bytes of ")]
        assert [why.startswith("Bytes of eager are not known") for why in whys] == (
            [] if is_known else [True]
        )


def copy_items(replayed: Comparison) -> tuple[Item, ...]:
    """Of the copy into a CUDA graph's input: its group, its kernel and its operator."""
    groups = replayed.pairs[0].ledger.groups
    (number,) = (n for n, group in enumerate(groups) if group.title == "_foreach_copy")
    (kernel,) = groups[number].candidate.kernels
    return group_item(1, number), kernel_item(kernel.name), operator_item("aten::_foreach_copy_")


def test_a_copy_into_a_cuda_graph_asks_for_no_log_that_is_there(replayed: Comparison) -> None:
    for item in copy_items(replayed):
        made: Dossier = dossier(replayed, item)
        line = next(each for each in made.missing if each.startswith("Which line"))
        assert (
            line
            == "Which line it comes from is not known: no graph that runs here names one for it."
        )
        assert not any("TORCH_TRACE" in each for each in made.missing)
        # All other groups of this run have one, so files do name modules by path.
        assert not any("no file names modules" in each for each in made.missing)


@pytest.mark.parametrize("has_log", [True, False])
def test_the_log_is_asked_for_where_it_is_missing(has_log: bool) -> None:
    nothing = {"has_sources": False, "has_log": has_log}
    told = (
        missing_of_kernel_groups(has_ledger=True, in_groups=True, has_modules=False, **nothing),
        missing_of_operator(
            has_ledger=True, has_calls=True, has_arguments=True, has_shapes=True,
            has_modules=False, **nothing,
        ),
        missing_of_group(
            has_module=False, has_code=True, runs_compiled=True, has_traffic=True,
            has_counters=True, has_arguments=True, **nothing,
        ),
    )  # fmt: skip
    for sentences in told:
        assert any("TORCH_TRACE" in each for each in sentences) is not has_log
        modules = [each for each in sentences if "module" in each]
        assert all(("no file names modules" in each) is not has_log for each in modules)


def test_of_cut_traces_it_takes_whole_ones_to_tell_what_a_kernel_became(tmp_path: Path) -> None:
    """Of two runs on one H200: "that takes ... traces of the same kind of device"."""
    for variant in ("eager", "default"):
        plain = gzip.decompress((BARE / f"breaky.{variant}" / "trace.json.gz").read_bytes())
        (tmp_path / variant).mkdir()
        kept = gzip.compress(plain[: len(plain) * 3 // 5], compresslevel=1)
        (tmp_path / variant / "trace.json.gz").write_bytes(kept)
    comparison = Comparison.open([tmp_path / "eager", tmp_path / "default"])
    made = dossier(comparison, kernel_item(comparison.kernels[0].name))
    (became,) = (each for each in made.missing if each.startswith("What it was before"))
    assert became == "What it was before or became is not known: that takes whole traces."


def test_shapes_that_are_shown_are_not_asked_for() -> None:
    """Of torch.randint, which has a range and a size: "that takes the shapes of all operators"."""
    folder = SAMPLE.parent / "simplecnn-training"
    comparison = Comparison.open([folder / "eager", folder / "default"])
    (name,) = (row.name for row in comparison.kernels if "random_from_to" in row.name)
    made = dossier(comparison, kernel_item(name))
    assert made.arguments
    (why,) = (each for each in made.missing if each.startswith("Bytes against"))
    assert why.endswith("the shapes above do not tell all that it moves.")


def test_random_numbers_are_written_once_and_nothing_is_read() -> None:
    """torch.randn(256, 1024), by the shape of its normal_; its bytes were not known."""
    runs = [BARE / f"breaky.{variant}" / "trace.json.gz" for variant in ("eager", "default")]
    comparison = Comparison.open(runs)
    (name,) = (row.name for row in comparison.kernels if "normal_and_transform" in row.name)
    traffic = comparison.runs[0].traffic[name]
    assert traffic.n_bytes == traffic.n_calls * 256 * 1024 * 4


def test_an_operator_without_a_call_is_not_told_to_lack_shapes() -> None:
    """A replay of a CUDA graph has no calls; its trace may well have shapes."""
    (told,) = missing_of_operator(
        has_ledger=True, has_calls=False, has_arguments=False, has_shapes=False,
        has_sources=True, has_modules=True, has_log=True,
    )  # fmt: skip
    assert "no call of it" in told and "record_shapes" not in told


def test_lists_of_tensors_are_inputs_and_long_ones_have_no_shapes(
    replayed: Comparison, tmp_path: Path
) -> None:
    """ "The trace has no shapes (record_shapes=False)" stood beside [[[1, 3, 224, 224]], …]."""
    _, _, operator = copy_items(replayed)
    made = dossier(replayed, operator)
    (told,) = made.arguments
    assert re.fullmatch(r"\[[\d×]+\] · \[[\d×]+\]", told.inputs)
    assert not [each for each in made.missing if each.startswith("Inputs")]

    plain = gzip.decompress((SAMPLE / "reduce-overhead" / "trace.json.gz").read_bytes())
    # As torch writes a list of more than 30.
    cut, n = re.subn(rb"\[\[\[[\d, ]+\]\], \[\[[\d, ]+\]\], \[\]\]", b"[[], [], []]", plain)
    assert n
    (tmp_path / "long").mkdir()
    (tmp_path / "long" / "trace.json.gz").write_bytes(gzip.compress(cut, compresslevel=1))
    comparison = Comparison.open([SAMPLE / "eager", tmp_path / "long"])
    (kernel,) = (row for row in comparison.kernels if "TensorListMetadata<2>" in row.name)
    for item in (operator, kernel_item(kernel.name)):
        unknown = [each for each in dossier(comparison, item).missing if "Inputs" in each]
        assert unknown == [
            "Inputs are not known: torch records no shapes of lists of over 30 tensors."
        ]
