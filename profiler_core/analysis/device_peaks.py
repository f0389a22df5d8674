"""What a GPU can do at best: memory bandwidth, L2 size and dense peaks by product name.

Vendors' data sheets at boost clocks, dense (no structured sparsity), decimal units. Names are the
marketing names that the driver reports, matched by the longest prefix: "NVIDIA H100 80GB HBM3" is
the SXM5 board, "NVIDIA H100 PCIe" the card. A name that is not here gives None, never a guess.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class DevicePeaks:
    """Peaks of one product; None: the data sheet does not say."""

    name: str  # the prefix that matched
    memory_bytes_per_s: float
    l2_bytes: int | None
    fp32_flops: float | None  # CUDA cores
    tf32_flops: float | None  # Tensor Cores
    half_flops: float | None  # fp16 or bf16 on Tensor Cores, fp32 accumulation
    source: str


_AMPERE = "NVIDIA A100 data sheet (2021)"
_HOPPER = "NVIDIA H100 data sheet (2023)"
_ADA = "NVIDIA Ada GPU architecture white paper (2023)"

# prefix, GB/s, L2 MB (2**20), TFLOPS fp32, tf32, half, source
_TABLE: tuple[tuple[str, float, int | None, float | None, float | None, float | None, str], ...] = (
    ("B200", 8000, 126, 75, 1125, 2250, "NVIDIA HGX B200 data sheet (2024), per GPU"),
    ("GB200", 8000, 126, 80, 1250, 2500, "NVIDIA GB200 NVL72 data sheet (2024), per GPU"),
    ("H200", 4800, 60, 67, 494.5, 989, "NVIDIA H200 data sheet (2024); L2 as the driver reports"),
    ("GH200", 4000, 60, 67, 494.5, 989, "NVIDIA GH200 data sheet (2023), 96 GB HBM3"),
    ("H100 NVL", 3900, 60, 60, 417.5, 835, "NVIDIA H100 NVL product brief (2024), per GPU"),
    ("H100 PCIe", 2000, 50, 51, 378, 756, _HOPPER),
    ("H100", 3350, 50, 67, 494.5, 989, _HOPPER),
    ("H800", 3350, 50, 67, 494.5, 989, "as H100: only interconnect and fp64 differ"),
    ("H20", 4000, 60, 44, 74, 148, "NVIDIA H20 product brief (2024)"),
    ("A100-SXM4-80GB", 2039, 40, 19.5, 156, 312, _AMPERE),
    ("A100 80GB PCIe", 1935, 40, 19.5, 156, 312, _AMPERE),
    ("A100-SXM-80GB", 2039, 40, 19.5, 156, 312, _AMPERE),
    ("A100", 1555, 40, 19.5, 156, 312, _AMPERE),
    ("A800", 2039, 40, 19.5, 156, 312, "as A100 80GB: only the interconnect differs"),
    ("A40", 696, 6, 37.4, 74.8, 149.7, "NVIDIA A40 data sheet (2020)"),
    ("A30", 933, 24, 10.3, 82, 165, "NVIDIA A30 data sheet (2021)"),
    ("A10G", 600, 6, 35, 35, 70, "NVIDIA A10G in AWS G5 (2021)"),
    ("A10", 600, 6, 31.2, 62.5, 125, "NVIDIA A10 data sheet (2021)"),
    ("L40S", 864, None, 91.6, 183, 362, "NVIDIA L40S data sheet (2023)"),
    ("L40", 864, None, 90.5, 90.5, 181, "NVIDIA L40 data sheet (2022)"),
    ("L4", 300, 48, 30.3, 60, 121, "NVIDIA L4 data sheet (2023)"),
    ("Tesla V100S", 1134, 6, 16.4, None, 130, "NVIDIA V100S data sheet (2020)"),
    ("Tesla V100", 900, 6, 15.7, None, 125, "NVIDIA V100 data sheet (2020)"),
    ("Tesla T4", 320, 4, 8.1, None, 65, "NVIDIA T4 data sheet (2018)"),
    ("GeForce RTX 5090", 1792, 96, 104.8, 104.8, 209.5, "NVIDIA Blackwell RTX white paper (2025)"),
    ("GeForce RTX 5080", 960, 64, 56.3, 56.3, 112.6, "NVIDIA Blackwell RTX white paper (2025)"),
    ("GeForce RTX 4090", 1008, 72, 82.6, 82.6, 165.2, _ADA),
    ("GeForce RTX 4080", 717, 64, 48.7, 48.7, 97.5, _ADA),
    ("GeForce RTX 3090", 936, 6, 35.6, 35.6, 71, "NVIDIA Ampere GA102 white paper (2021)"),
    ("GeForce RTX 3080", 760, 5, 29.8, 29.8, 59.5, "NVIDIA Ampere GA102 white paper (2021)"),
    ("RTX 6000 Ada", 960, 96, 91.1, 182.1, 364.2, "NVIDIA RTX 6000 Ada data sheet (2022)"),
    ("RTX A6000", 768, 6, 38.7, 77.4, 154.8, "NVIDIA RTX A6000 data sheet (2020)"),
    ("RTX PRO 6000 Blackwell", 1792, 128, 125, 251.9, 503.8, "NVIDIA RTX PRO data sheet (2025)"),
)


def peaks_of(device_name: str | None) -> DevicePeaks | None:
    """Peaks by the name that the driver reports; None for an unknown device."""
    if not device_name:
        return None
    name = device_name.removeprefix("NVIDIA ").removeprefix("Graphics Device ").strip()
    fitting = [row for row in _TABLE if name.lower().startswith(row[0].lower())]
    if not fitting:
        return None
    prefix, gigabytes, l2_mib, fp32, tf32, half, source = max(fitting, key=lambda r: len(r[0]))

    def tera(value: float | None) -> float | None:
        return None if value is None else value * 1e12

    return DevicePeaks(
        name=prefix,
        memory_bytes_per_s=gigabytes * 1e9,
        l2_bytes=None if l2_mib is None else l2_mib << 20,
        fp32_flops=tera(fp32),
        tf32_flops=tera(tf32),
        half_flops=tera(half),
        source=source,
    )
