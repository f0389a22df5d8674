"""The colours hold what theme.py promises, for normal and for colour-blind eyes."""

from itertools import combinations

import numpy as np
import pytest

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.figures.theme import DARK, LIGHT

# Machado, Oliveira, Fernandes 2009, severity 1.0, on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
ELEVEN = (
    *("gemm", "conv", "attention", "triton_pointwise", "triton_reduction", "norm"),
    *("memcpy", "memset", "communication", "optimizer", "other"),
)
PALETTES = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def linear(color):
    rgb = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb):
    """Björn Ottosson's OKLab of linear sRGB, times 100."""
    lms = np.cbrt(
        np.array(
            [
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ]
        )
        @ np.clip(rgb, 0, 1)
    )
    return 100 * (
        np.array(
            [
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ]
        )
        @ lms
    )


def distance(one, other):
    """The smallest of all kinds of sight."""
    return min(
        float(np.linalg.norm(oklab(m @ linear(one)) - oklab(m @ linear(other))))
        for m in SIGHT.values()
    )


def contrast(one, other):
    """WCAG 2 contrast of two colours."""
    light, dark = sorted(
        (float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


@PALETTES
def test_the_main_colours_are_far_apart_for_all_eyes(palette):
    colors = [palette.category(key) for key in ELEVEN]
    assert min(distance(a, b) for a, b in combinations(colors, 2)) >= 11


@PALETTES
def test_any_two_colours_can_be_told_apart(palette):
    assert min(distance(a, b) for a, b in combinations(set(palette.categories.values()), 2)) >= 5


@PALETTES
def test_the_two_reductions_of_triton_can_be_told_apart(palette):
    """They stand beside each other in every bar and had one colour."""
    loop, persistent = (
        palette.category(key) for key in ("triton_reduction", "triton_persistent_reduction")
    )
    assert distance(loop, persistent) >= 7
    lighter = oklab(linear(persistent)) - oklab(linear(loop))
    assert lighter[0] >= 8


@PALETTES
def test_every_category_has_a_colour(palette):
    assert set(palette.categories) == set(CATEGORIES)


@PALETTES
def test_text_can_be_read(palette):
    assert contrast(palette.ink, palette.surface) >= 7
    for color in (palette.muted, palette.accent, palette.better, palette.worse):
        assert contrast(color, palette.surface) >= 4.4
    for fill in palette.categories.values():
        assert contrast(palette.on(fill), fill) >= 4.5


@PALETTES
def test_better_and_worse_differ_for_all_eyes(palette):
    assert distance(palette.better, palette.worse) >= 11


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_the_idle_time_of_a_step_can_be_read(palette):
    """Muted on the grey of idle time has 4.0 in light and 4.3 in dark."""
    assert contrast(palette.on(palette.idle), palette.idle) >= 4.5
    assert contrast(palette.muted, palette.idle) < 4.5
