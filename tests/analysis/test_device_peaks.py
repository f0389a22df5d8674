"""Peaks by name: the right row, dense figures that agree with each other, None for a stranger."""

import pytest

from profiler_core.analysis import device_peaks
from profiler_core.analysis.device_peaks import peaks_of


@pytest.mark.parametrize(
    ("name", "row", "tera_half", "terabytes"),
    [
        ("NVIDIA H100 80GB HBM3", "H100", 989.4, 3.35),
        ("NVIDIA H100 PCIe", "H100 PCIe", 756, 2.0),
        ("NVIDIA H100 NVL", "H100 NVL", 835.5, 3.9),
        ("NVIDIA H200", "H200", 989.4, 4.8),
        ("NVIDIA A100-SXM4-40GB", "A100", 312, 1.555),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB", 312, 2.039),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe", 312, 1.935),
        ("A100-PCIE-40GB", "A100", 312, 1.555),
        ("NVIDIA A10G", "A10G", 70, 0.6),
        ("NVIDIA A10", "A10", 125, 0.6),
        ("NVIDIA L40S", "L40S", 362.05, 0.864),
        ("NVIDIA L4", "L4", 121, 0.3),
        ("NVIDIA B200", "B200", 2250, 8.0),
        ("Tesla V100-SXM2-16GB", "Tesla V100", 125, 0.9),
        ("Tesla V100-PCIE-16GB", "Tesla V100-PCIE", 112, 0.9),
        ("NVIDIA GeForce RTX 4090", "GeForce RTX 4090", 165.2, 1.008),
        ("NVIDIA GeForce RTX 5090", "GeForce RTX 5090", 209.5, 1.792),
        ("AMD Instinct MI300X", "Instinct MI300X", 1307.4, 5.3),
    ],
)
def test_the_row_of_a_device(name, row, tera_half, terabytes):
    found = peaks_of(name)
    assert found is not None
    assert found.name == row
    assert found.half_flops == pytest.approx(tera_half * 1e12)
    assert found.memory_bytes_per_s == pytest.approx(terabytes * 1e12)
    assert found.source


@pytest.mark.parametrize(
    "name",
    ["", None, "NVIDIA A1000", "NVIDIA GeForce RTX 3080 Ti", "NVIDIA GeForce RTX 4090 Laptop GPU",
     "NVIDIA GeForce RTX 5090 D", "Quadro P620", "NVIDIA L400"],
)  # fmt: skip
def test_an_unknown_device_is_none(name):
    assert peaks_of(name) is None


def test_dense_figures_agree_with_each_other():
    """A Tensor Core does twice as many products in halves as in TF32; sparse rows would not."""
    for prefix, gigabytes, cache, fp32, tf32, half, source in device_peaks._TABLE:
        assert source, prefix
        assert 100 < gigabytes < 10_000, prefix
        assert cache is not None, prefix
        if tf32 is not None:
            assert half == pytest.approx(2 * tf32, rel=0.02), prefix
            assert tf32 >= fp32, prefix
