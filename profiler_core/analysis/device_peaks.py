"""What a GPU can do at best: memory bandwidth, cache size and dense peaks by product name.

Vendors' data sheets at boost clocks, decimal units, always dense: where a sheet prints figures
with structured sparsity (Hopper, Blackwell, Ada) they are halved here, and consumer boards go by
fp32 accumulation, which is what PyTorch uses. Names are the marketing names that the driver
reports, matched by the longest prefix that ends with a word: "NVIDIA H100 80GB HBM3" is the SXM5
board, "NVIDIA H100 PCIe" the card. A name that is not here gives None, never a guess.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class DevicePeaks:
    """Peaks of one product; None: the data sheet does not say."""

    name: str  # the prefix that matched
    memory_bytes_per_s: float
    # The cache in front of the memory: L2, on AMD's CDNA 3 the Infinity Cache. Where sources differ
    # (boards with a part of the die's cache) it is the larger figure: who exceeds it is surely out.
    l2_bytes: int | None
    fp32_flops: float | None  # CUDA cores, or AMD's vector units
    tf32_flops: float | None  # Tensor Cores
    half_flops: float | None  # fp16 or bf16 on Tensor Cores, fp32 accumulation
    source: str


_AMPERE = "NVIDIA A100 data sheet (2021); L2: NVIDIA A100 white paper (2020)"
_HOPPER = "NVIDIA H100 data sheet (2023), sparse figures halved; L2: Hopper white paper"
_ADA = "NVIDIA Ada GPU architecture white paper (2023), appendix A"
_GA102 = "NVIDIA Ampere GA102 white paper (2021), fp32 accumulation"
_RTX_BLACKWELL = "NVIDIA RTX Blackwell white paper (2025), appendix A, fp32 accumulation"
_CDNA3 = "AMD Instinct data sheet, and CDNA 3 white paper for the Infinity Cache"

# prefix, GB/s, cache MB (2**20), TFLOPS fp32, tf32, half, source
_TABLE: tuple[tuple[str, float, int | None, float | None, float | None, float | None, str], ...] = (
    ("B200", 8000, 126, 75, 1125, 2250, "NVIDIA DGX B200 data sheet (2024), an eighth, halved"),
    ("GB200", 8000, 126, 80, 1250, 2500, "NVIDIA GB200 NVL72 data sheet (2024), per GPU, halved"),
    ("H200 NVL", 4800, 60, 60, 417.5, 835.5, "NVIDIA H200 data sheet (2024), sparse halved"),
    ("H200", 4800, 60, 67, 494.7, 989.4, "NVIDIA H200 data sheet (2024); L2 as the driver reports"),
    ("GH200 144G", 4900, 60, 67, 494.7, 989.4, "NVIDIA GH200 data sheet (2024), HBM3e"),
    ("GH200", 4000, 60, 67, 494.7, 989.4, "NVIDIA GH200 data sheet (2023), 96 GB HBM3"),
    ("H100 NVL", 3900, 60, 60, 417.5, 835.5, "NVIDIA H100 NVL data sheet (2024), sparse halved"),
    ("H100 PCIe", 2000, 50, 51, 378, 756, _HOPPER),
    ("H100", 3350, 50, 67, 494.7, 989.4, _HOPPER),
    ("H800", 3350, 50, 67, 494.7, 989.4, "as H100: only interconnect and fp64 differ"),
    ("H20", 4000, 60, 44, 74, 148, "NVIDIA H20 product brief (2024)"),
    ("A100-SXM4-80GB", 2039, 40, 19.5, 156, 312, _AMPERE),
    ("A100 80GB PCIe", 1935, 40, 19.5, 156, 312, _AMPERE),
    ("A100-SXM-80GB", 2039, 40, 19.5, 156, 312, _AMPERE),
    ("A100", 1555, 40, 19.5, 156, 312, _AMPERE),
    ("A800", 2039, 40, 19.5, 156, 312, "as A100 80GB: only the interconnect differs"),
    ("A40", 696, 6, 37.4, 74.8, 149.7, "NVIDIA A40 data sheet (2020)"),
    ("A30", 933, 24, 10.3, 82, 165, "NVIDIA A30 data sheet (2021)"),
    ("A10G", 600, 6, 35, 35, 70, "NVIDIA A10G data sheet (2021)"),
    ("A10", 600, 6, 31.2, 62.5, 125, "NVIDIA A10 data sheet (2021)"),
    ("L40S", 864, 96, 91.6, 183, 362.05, "NVIDIA L40S data sheet (2023); L2 of the full die"),
    ("L40", 864, 96, 90.5, 90.5, 181.05, "NVIDIA L40 data sheet (2022); L2: Ada white paper"),
    ("L4", 300, 48, 30.3, 60, 121, "NVIDIA L4 data sheet (2023), sparse halved"),
    ("Tesla V100S", 1134, 6, 16.4, None, 130, "NVIDIA V100S data sheet (2020)"),
    ("Tesla V100-PCIE", 900, 6, 14, None, 112, "NVIDIA V100 data sheet (2020), PCIe"),
    ("Tesla V100-FHHL", 829, 6, None, None, None, "NVIDIA V100 FHHL product brief: bandwidth only"),
    ("Tesla V100", 900, 6, 15.7, None, 125, "NVIDIA V100 data sheet (2020), SXM2"),
    ("Tesla T4", 320, 4, 8.1, None, 65, "NVIDIA T4 data sheet (2018)"),
    ("GeForce RTX 5090", 1792, 96, 104.8, 104.8, 209.5, _RTX_BLACKWELL),
    ("GeForce RTX 5080", 960, 64, 56.3, 56.3, 112.6, _RTX_BLACKWELL),
    ("GeForce RTX 4090", 1008, 72, 82.6, 82.6, 165.2, _ADA),
    ("GeForce RTX 4080 SUPER", 736, 64, 52.2, 52.2, 104.4, "NVIDIA GeForce RTX 4080 SUPER page"),
    ("GeForce RTX 4080", 717, 64, 48.7, 48.7, 97.5, _ADA),
    ("GeForce RTX 3090 Ti", 1008, 6, 40, 40, 80, _GA102),
    ("GeForce RTX 3090", 936, 6, 35.6, 35.6, 71, _GA102),
    ("GeForce RTX 3080", 760, 5, 29.8, 29.8, 59.5, f"{_GA102}; the 10 GB board"),
    ("RTX 6000 Ada", 960, 96, 91.1, 182.1, 364.2, "NVIDIA RTX 6000 Ada data sheet (2022), halved"),
    ("RTX A6000", 768, 6, 38.7, 77.4, 154.8, "NVIDIA RTX A6000 data sheet (2020), sparse halved"),
    ("RTX PRO 6000 Blackwell", 1792, 128, 125, 251.9, 503.8, "NVIDIA RTX PRO data sheet, halved"),
    ("Instinct MI325X", 6000, 256, 163.4, 653.7, 1307.4, f"{_CDNA3} (MI325X, 2024)"),
    ("Instinct MI300X", 5300, 256, 163.4, 653.7, 1307.4, f"{_CDNA3} (MI300X, 2023)"),
    ("Instinct MI210", 1638, 8, 22.6, None, 181, "AMD Instinct MI210 data sheet (2022)"),
)

# Another product of the same name: nothing is known of it unless it has a row of its own.
_OTHER_PRODUCT = re.compile(r"\s(?:Ti|SUPER|D|Laptop|Max-Q|Mobile)\b", re.IGNORECASE)


def peaks_of(device_name: str | None) -> DevicePeaks | None:
    """Peaks by the name that the driver reports; None for an unknown device."""
    if not device_name:
        return None
    name = re.sub(r"^(?:NVIDIA|AMD|Graphics Device)\s+", "", device_name.strip())
    fitting = [row for row in _TABLE if _names(row[0], name)]
    if not fitting:
        return None
    prefix, gigabytes, l2_mib, fp32, tf32, half, source = max(fitting, key=lambda r: len(r[0]))
    if _OTHER_PRODUCT.match(name[len(prefix) :]):
        return None

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


def _names(prefix: str, name: str) -> bool:
    """A100 is not A1000: the prefix ends where a word does."""
    suffix = name[len(prefix) :]
    return name.lower().startswith(prefix.lower()) and not suffix[:1].isalnum()
