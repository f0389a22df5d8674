"""Bytes from shapes, counted by hand."""

from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.ledger.bytes_moved import bytes_of
from profiler_core.analysis.ledger.work_units import Unit
from tests.analysis.ledger.pairs import small


def unit(name, shapes, dtype="float"):
    return Unit(
        name, 0, 1, (1, 1), None, None, False, shapes=shapes, dtypes=tuple(dtype for _ in shapes)
    )


def test_an_addition_reads_two_and_writes_one():
    assert bytes_of(unit("aten::add", ((8, 4), (8, 4))), None) == (256, 128)
    assert bytes_of(unit("aten::add", ((8, 4), (4,)), "c10::Half"), None) == (72, 64)


def test_a_product_writes_rows_by_columns():
    assert bytes_of(unit("aten::linear", ((2, 3, 5), (7, 5), (7,))), None) == (
        4 * (30 + 35 + 7),
        4 * 2 * 3 * 7,
    )
    assert bytes_of(unit("aten::addmm", ((7,), (6, 5), (5, 7))), None) == (
        4 * (7 + 30 + 35),
        4 * 42,
    )


def test_what_is_not_known_is_none():
    assert bytes_of(unit("aten::add", ()), None) is None
    assert bytes_of(unit("aten::add", ((8,),), "some::Type"), None) is None
    assert bytes_of(unit("aten::conv2d", ((1, 3, 8, 8), (4, 3, 3, 3))), None) is None
    assert bytes_of(
        unit("aten::conv2d", ((1, 3, 8, 8), (4, 3, 3, 3))), None, ((1, 4, 6, 6), "f32")
    ) == (4 * (192 + 108), 4 * 144)


def test_fusion_saves_bytes():
    """ResNet's bn + add + relu: 3 reads of 102.8 MB and 3 writes become 2 reads and 1 write."""
    result = small("resnet50.eager", "resnet50.default")
    (group, *_) = [g for g in result.groups if g.title == "batch_norm + add + relu"]
    activation = 32 * 256 * 56 * 56 * 4
    assert abs(group.candidate.bytes_moved - 3 * activation) < 0.01 * activation
    assert abs(group.baseline.bytes_moved - 7 * activation) < 0.01 * activation
    assert 3e12 < group.candidate.bytes_per_s < 4.8e12  # below the H200's 4.8 TB/s


def test_peaks_by_the_longest_prefix():
    assert peaks_of("NVIDIA H200").memory_bytes_per_s == 4.8e12
    assert peaks_of("NVIDIA H100 PCIe").memory_bytes_per_s == 2.0e12
    assert peaks_of("NVIDIA H100 80GB HBM3").half_flops == 989.4e12
    assert peaks_of("NVIDIA A100-SXM4-80GB").memory_bytes_per_s == 2.039e12
    assert peaks_of("NVIDIA GeForce RTX 4090").fp32_flops == 82.6e12
    assert peaks_of("Fantasy GPU") is None
    assert peaks_of(None) is None
