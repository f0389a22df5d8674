"""Values of options that are written in a form of their own."""

import re

from profiler_core.errors import BadInput

Shape = tuple[int, ...]


def parse_shapes(text: str) -> tuple[Shape, ...]:
    """Read `8x3x32x32,16x3x32x32`.

    Raises:
        BadInput: a size is no whole number.
    """
    try:
        return tuple(
            tuple(int(size) for size in re.split(r"[x*]", part.strip()))
            for part in text.split(",")
            if part.strip()
        )
    except ValueError:
        raise BadInput(
            f"Shapes '{text}' cannot be read.", remedy="Write them like 8x3x32x32,16x3x32x32."
        ) from None


def write_shapes(shapes: tuple[Shape, ...]) -> str:
    """As `parse_shapes` reads it."""
    return ",".join("x".join(map(str, shape)) for shape in shapes)


def parse_option(text: str) -> tuple[str, str]:
    """Read `layers=2`, a keyword argument of the workload's builder.

    Raises:
        BadInput: no `=`, or the key is no Python name.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip().isidentifier():
        raise BadInput(f"Option '{text}' cannot be read.", remedy="Write it like layers=2.")
    return key.strip(), value.strip()


def parse_metrics(text: str) -> tuple[str, ...]:
    """Read `sm__cycles_active.avg.pct_of_peak_sustained_elapsed,dram__throughput.avg`.

    Raises:
        BadInput: a word is no name of a metric.
    """
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        if not re.fullmatch(r"[A-Za-z][\w.:]*", name, re.ASCII):
            raise BadInput(
                f"Metric '{name[:60]}' cannot be read.",
                remedy="Write it like sm__cycles_active.avg.pct_of_peak_sustained_elapsed.",
            )
    return names
