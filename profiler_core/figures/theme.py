"""The colours of all figures and of the timeline.

A hue has a meaning: blues are dense maths, violet is attention, dark green and green are Triton,
amber is normalisation, browns are copies, red is communication, pink is the optimizer, grey is
the rest. The eleven main colours were optimised in OKLab: the smallest distance between any two
stays >= 11 (x100) for normal sight, deuteranopia, protanopia and tritanopia (Machado 2009, full
severity). The kinds that eager alone knows (elementwise, reduction, softmax, pooling, copy) and the
persistent reductions of Triton, which stand beside its reductions and are lighter, were added under
the same measure with the eleven held fixed: >= 5 to anything else. Colour is never
the only sign: bars carry
labels, and the order of the legend is the order of the stack.

Plotly-free, so that the timeline can use it; the Plotly template is in `template.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

# Share of the accent in the colours of the first, second … candidate.
_TINTS = (1.0, 0.55, 0.32, 0.2)


@dataclass(frozen=True)
class Palette:
    """All colours of one mode, as #RRGGBB."""

    ink: str  # text
    muted: str  # secondary text
    line: str  # hairlines, grids
    surface: str  # the page
    raised: str  # sidebar, hover
    accent: str  # links, the compiled side
    baseline: str  # the eager side
    better: str
    worse: str
    idle: str  # GPU idle; a fill, no text
    categories: Mapping[str, str]

    def category(self, key: str) -> str:
        """The colour of a kernel category; a category unknown here is drawn as "other"."""
        return self.categories.get(key, self.categories["other"])

    def run(self, number: int) -> str:
        """The colour of a run: the baseline grey, candidates in ever lighter accents."""
        if number == 0:
            return self.baseline
        return _mixed(self.accent, self.surface, _TINTS[min(number - 1, len(_TINTS) - 1)])

    def tint(self, colour: str, share: float) -> str:
        """`share` of a colour on the page's ground: as it looks when drawn translucent."""
        return _mixed(colour, self.surface, share)

    def on(self, fill: str) -> str:
        """Black or white, whichever is easier to read on `fill` (WCAG relative luminance).

        One of the two always has a contrast of 4.5 or more; a softer black has not.
        """
        return "#FFFFFF" if _luminance(fill) < 0.179 else "#000000"


def _categories(
    *,
    gemm: str,
    conv: str,
    attention: str,
    triton_pointwise: str,
    triton_reduction: str,
    triton_persistent_reduction: str,
    norm: str,
    memcpy: str,
    memset: str,
    communication: str,
    optimizer: str,
    other: str,
    elementwise: str,
    reduction: str,
    softmax: str,
    pooling: str,
    copy: str,
) -> dict[str, str]:
    """Every category's colour.

    A Triton template counts as what it computes; kinds that differ only in how they are written
    share a colour, and their labels tell them apart.
    """
    return {
        "gemm": gemm,
        "conv": conv,
        "attention": attention,
        "norm": norm,
        "softmax": softmax,
        "pooling": pooling,
        "embedding": pooling,
        "elementwise": elementwise,
        "reduction": reduction,
        "copy": copy,
        "triton_pointwise": triton_pointwise,
        "triton_reduction": triton_reduction,
        "triton_persistent_reduction": triton_persistent_reduction,
        "cpp_fused": triton_pointwise,
        "triton_template_gemm": gemm,
        "triton_template_conv": conv,
        "triton_template_attention": attention,
        "engine": other,
        "optimizer": optimizer,
        "communication": communication,
        "memcpy": memcpy,
        "memset": memset,
        "other": other,
    }


LIGHT = Palette(
    ink="#15181E",
    muted="#667085",
    line="#E3E6EB",
    surface="#FFFFFF",
    raised="#F5F6F8",
    accent="#3B5BDB",
    baseline="#7A8292",
    better="#3B5BDB",
    worse="#C2570C",
    idle="#E3E6EB",
    categories=_categories(
        gemm="#072F94",
        conv="#24B9FF",
        attention="#7D35CE",
        triton_pointwise="#057564",
        triton_reduction="#5FA744",
        triton_persistent_reduction="#84C07E",
        norm="#FFB804",
        memcpy="#542B1B",
        memset="#D4D0BF",
        communication="#C32312",
        optimizer="#D057B2",
        other="#ABABAB",
        elementwise="#7EE6E6",
        reduction="#86D884",
        softmax="#F77241",
        pooling="#575E82",
        copy="#9E8065",
    ),
)

DARK = Palette(
    ink="#E8EAEE",
    muted="#8B93A3",
    line="#2B303A",
    surface="#111318",
    raised="#1A1D24",
    accent="#7C93F5",
    baseline="#8B93A3",
    better="#7C93F5",
    worse="#F08C28",
    idle="#2B303A",
    categories=_categories(
        gemm="#315FED",
        conv="#86E7FF",
        attention="#946CB1",
        triton_pointwise="#06A983",
        triton_reduction="#92D401",
        triton_persistent_reduction="#C6EA00",
        norm="#FBECA4",
        memcpy="#8C571C",
        memset="#DDBEA6",
        communication="#F75F3E",
        optimizer="#F480D4",
        other="#5E616E",
        elementwise="#B4F2DC",
        reduction="#639B44",
        softmax="#CCAB66",
        pooling="#5361A3",
        copy="#7A4433",
    ),
)


def palette(*, dark: bool) -> Palette:
    """The colours of the dark or the light mode."""
    return DARK if dark else LIGHT


def translucent(colour: str, opacity: float) -> str:
    """#RRGGBB with an opacity from 0 to 1, as CSS writes it."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def _mixed(color: str, ground: str, share: float) -> str:
    pairs = [(int(color[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02X}" for a, b in pairs)


def _luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
