"""Limits as people write them: `+3%`, `+100us`, `1.2GB`, `+2`, `90%`.

With a sign a limit is a change against the baseline, without one it bounds the candidate itself.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from profiler_core.errors import BadInput
from profiler_core.units import format_bytes, format_count, format_duration, format_share

Kind = Literal["ns", "bytes", "count", "joule", "share"]

_TEXT = re.compile(r"([+-]?)\s*(\d+(?:\.\d+)?|\.\d+)\s*(%|[A-Za-zµμ]*)")
_UNITS: Mapping[Kind, Mapping[str, float]] = {
    "ns": {"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9},
    "bytes": {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
              "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    "count": {"": 1},
    "joule": {"mJ": 1e-3, "J": 1, "kJ": 1e3},
    "share": {},
}  # fmt: skip
_EXAMPLES: Mapping[Kind, str] = {
    "ns": "+3%, +100us or 5ms",
    "bytes": "+3%, +200MB or 1.2GB",
    "count": "+3%, +2 or 150",
    "joule": "+3%, +50mJ or 2J",
    "share": "90%, or -2% for two points less than the baseline",
}


@dataclass(frozen=True)
class Quantity:
    """One number that can be limited."""

    key: str
    label: str
    kind: Kind
    option: str  # of the command line
    lower_is_better: bool = True


QUANTITIES: tuple[Quantity, ...] = (
    Quantity("step_time", "Step time", "ns", "--max-step-time"),
    Quantity("kernels", "Kernels per step", "count", "--max-kernels"),
    Quantity("launches", "Launches per step", "count", "--max-launches"),
    Quantity("graph_breaks", "Graph breaks", "count", "--max-breaks"),
    Quantity("recompiles", "Recompiles after warm-up", "count", "--max-recompiles"),
    Quantity("compile_time", "Compile time", "ns", "--max-compile-time"),
    Quantity("peak_memory", "Peak memory", "bytes", "--max-peak-memory"),
    Quantity("energy", "Energy per step", "joule", "--max-energy"),
    Quantity(
        "cudagraph_coverage",
        "CUDA-graph coverage",
        "share",
        "--min-cudagraph-coverage",
        lower_is_better=False,
    ),
)

DEFAULT = "+3%"  # on QUANTITIES[0], where no limit is given


@dataclass(frozen=True)
class Limit:
    """The worst value that still passes."""

    quantity: Quantity
    text: str
    amount: float  # a fraction where is_fraction, else in the unit of the quantity's kind
    is_change: bool  # against the baseline
    is_fraction: bool  # of the baseline's value; a share's change is in points instead

    def bound(self, baseline: float | None) -> float | None:
        """The worst value allowed; None: the baseline's is needed and not known."""
        if not self.is_change:
            return self.amount
        if baseline is None:
            return None
        return baseline * (1 + self.amount) if self.is_fraction else baseline + self.amount


def parse_limit(quantity: Quantity, text: str) -> Limit:
    """Read one limit.

    Raises:
        BadInput: it is none, or its unit is not one of the quantity.
    """
    remedy = f"Write for example {_EXAMPLES[quantity.kind]}."
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise BadInput(f"{quantity.option} {text!r} is no limit.", remedy=remedy)
    sign, number, unit = match.groups()
    amount = float(number) * (-1 if sign == "-" else 1)
    if unit == "%":
        is_share = quantity.kind == "share"
        if not sign and not is_share:
            raise BadInput(f"{quantity.option} {text!r} has no sign.", remedy=remedy)
        return Limit(quantity, text, amount / 100, bool(sign), bool(sign) and not is_share)
    factor = _UNITS[quantity.kind].get(unit)
    if factor is None:
        unit_text = f"the unit {unit!r}" if unit else "no unit"
        raise BadInput(f"{quantity.option} {text!r} has {unit_text}.", remedy=remedy)
    return Limit(quantity, text, amount * factor, bool(sign), is_fraction=False)


def limits_of(texts: Mapping[str, str]) -> list[Limit]:
    """Limits by the keys of their quantities, in the order of QUANTITIES; DEFAULT without any.

    Raises:
        BadInput: one is no limit, or its key is that of no quantity.
    """
    unknown = set(texts) - {quantity.key for quantity in QUANTITIES}
    if unknown:
        raise BadInput(
            f"Nothing that can be limited is called {', '.join(sorted(unknown))}.",
            remedy=f"Use {', '.join(quantity.key for quantity in QUANTITIES)}.",
        )
    given = [q for q in QUANTITIES if q.key in texts]
    if not given:
        return [parse_limit(QUANTITIES[0], DEFAULT)]
    return [parse_limit(quantity, texts[quantity.key]) for quantity in given]


def value_text(kind: Kind, value: float | None) -> str:
    """A value of that kind as people read it; a duration of nothing is none: eager's compiling."""
    if value is None or (kind == "ns" and not value):
        return "–"
    if kind == "ns":
        return format_duration(value)
    if kind == "bytes":
        return format_bytes(value)
    if kind == "share":
        return format_share(value)
    if kind == "joule":
        return f"{value:.3g} J" if value >= 1 else f"{value * 1e3:.3g} mJ"
    return format_count(value)
