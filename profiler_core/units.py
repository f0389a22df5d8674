"""Nanoseconds, bytes and fractions as text people read; nothing else formats numbers."""

import math
from typing import Literal

# A bound is rounded to the side on which it stays true: "at least" and "≥" down, "at most" and
# "≤" up. What is exact or estimated is rounded to the nearest.
Rounding = Literal["nearest", "down", "up"]

_ROUNDS_UP = 0.9995  # from here on a value is 1.00 of the next unit, not 1000 of this one


def format_duration(ns: float | None, rounding: Rounding = "nearest") -> str:
    """`5_220_000` -> "5.22 ms". None is an en dash."""
    if ns is None:
        return "–"
    if ns < 0:
        return f"−{format_duration(-ns, _MIRRORED[rounding])}"
    ns = _bounded(ns, rounding)
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= factor * _ROUNDS_UP:
            return f"{_three_digits(ns / factor)} {unit}"
    return f"{ns:.0f} ns"


def format_durations(shortest_ns: float, longest_ns: float) -> str:
    """Both ends of a range, the unit once where they share it: "41.0 to 76.0 µs"."""
    ends = [format_duration(ns) for ns in (shortest_ns, longest_ns)]
    units = {end.split(" ")[-1] for end in ends}
    return f"{ends[0].split(' ')[0] if len(units) == 1 else ends[0]} to {ends[1]}"


def format_wait(seconds: float) -> str:
    """A time that people wait: 138 -> "2 min 18 s", 1200 -> "20 min", 45 -> "45.0 s"."""
    minutes, rest = divmod(int(seconds), 60)
    if minutes:
        return f"{minutes} min {rest:02d} s" if rest else f"{minutes} min"
    # What has just begun took nothing yet: no "412 µs" that the next look replaces.
    return format_duration(seconds * 1e9) if seconds >= 1e-3 else "0 s"


def format_difference(ns: float | None) -> str:
    """A change with its sign: `-1_310_000` -> "−1.31 ms". None is an en dash."""
    if ns is None:
        return "–"
    return f"{'−' if ns < 0 else '+'}{format_duration(abs(ns))}"


def format_bytes(n: float | None, rounding: Rounding = "nearest") -> str:
    """`468_000_000` -> "468 MB" (decimal, as torch and vendors print them). None is an en dash."""
    if n is None:
        return "–"
    n = -_bounded(-n, _MIRRORED[rounding]) if n < 0 else _bounded(n, rounding)
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(n) >= factor * _ROUNDS_UP:
            return f"{_three_digits(n / factor)} {unit}"
    return f"{n:.0f} B"


def format_peak(n: float | None, *, is_least: bool) -> str:
    """A peak of memory: "1.20 GB"; "≥ 1.20 GB" where the run's own is at least that."""
    return f"≥ {format_bytes(n, 'down')}" if is_least and n is not None else format_bytes(n)


def rounded_bytes(n: int) -> int:
    """The size that `format_bytes` says: sizes that read the same round to the same one."""
    return round(n, 3 - len(str(n)))


def format_energy(joules: float | None) -> str:
    """`0.0118` -> "11.8 mJ". None is an en dash."""
    if joules is None:
        return "–"
    for factor, unit in ((1e3, "kJ"), (1.0, "J"), (1e-3, "mJ")):
        if abs(joules) >= factor * _ROUNDS_UP:
            return f"{_three_digits(joules / factor)} {unit}"
    return f"{_three_digits(joules / 1e-6)} µJ"


def format_count(n: float | None) -> str:
    """`12408` -> "12 408" with a thin space; fractions keep one digit. None is an en dash."""
    if n is None:
        return "–"
    n = round(n, 6)  # 266.95 is one number, in whatever order it was added up
    is_whole = abs(n - round(n)) < 0.05
    text = f"{round(n):,}" if is_whole else f"{n:,.1f}"
    return text.replace(",", "\u202f")


def format_operations(n: float) -> str:
    """Floating-point operations: `8.2e9` -> "8.20 GFLOP"."""
    for factor, unit in ((1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP")):
        if n >= factor * _ROUNDS_UP:
            return f"{_three_digits(n / factor)} {unit}"
    return f"{n:.0f} FLOP"


def format_per_step(n: float) -> str:
    """Calls per step: `12408.2` -> "12 408"; one call in 25 steps is 0.04, not 0."""
    if abs(n) < 1:
        return f"{n:.2g}"
    return f"{n:.4g}" if abs(n) < 1000 else format_count(round(n))


def format_rate(per_second: float | None) -> str:
    """`4310.4` -> "4 310", with a thin space; below 100 with one digit. None is an en dash."""
    is_large = per_second is not None and per_second >= 100
    return format_count(round(per_second) if is_large and per_second else per_second)


def format_share(fraction: float | None, rounding: Rounding = "nearest") -> str:
    """`0.947` -> "95 %"; a share that is not whole is never printed as 0 or 100. None is a dash.

    A lower bound below 1 % keeps one digit, as "0.4 %": from 0 % on says nothing.
    """
    if fraction is None:
        return "–"
    if rounding == "up":
        return f"{math.ceil(_whole_if_near(fraction * 100))} %"
    if rounding == "down":
        percent = _whole_if_near(fraction * 100)
        return f"{math.floor(percent)} %" if percent >= 1 else f"{_one_digit_below(percent)} %"
    if 0 < fraction < 0.005:
        return "< 1 %"
    if 0.995 <= fraction < 1:
        return "> 99 %"
    return f"{fraction * 100:.0f} %"


def format_ratio(ratio: float) -> str:
    """`1.9671` -> "1.97×"; a small one keeps two significant digits: "0.0021×"."""
    digits = 2 if ratio >= 0.095 or ratio <= 0 else 1 - math.floor(math.log10(ratio))
    return f"{ratio:.{digits}f}×"


def format_change(ratio: float | None) -> str:
    """A ratio, candidate / baseline, as a change: 0.52 -> "−48 %"; beyond ×10 as a factor."""
    if ratio is None:
        return "–"
    if ratio >= 9.95:
        return f"×{_three_digits(ratio)}"
    if 0 < ratio < 0.005:  # would print as −100 %, which is for what is gone
        return f"÷{_three_digits(1 / ratio)}"
    change = (ratio - 1) * 100
    sign = "±" if abs(change) < 0.05 else "−" if change < 0 else "+"
    digits = 1 if 0.05 <= abs(change) < 1 else 0
    return f"{sign}{abs(change):.{digits}f} %"


def format_change_between(before: float | None, after: float | None) -> str:
    """What a value became, as `format_change` writes it; "" without both, or from 0."""
    return "" if not before or after is None else format_change(after / before)


def format_share_of(part: float, whole: float) -> str:
    """What share of the whole a part is, as `format_share` writes it; a dash of nothing."""
    return format_share(part / whole if whole else None)


def format_points(difference: float) -> str:
    """A difference of shares: 0.46 -> "+46 pts"; below one point with a digit after the point."""
    points = difference * 100
    sign = "±" if abs(points) < 0.05 else "−" if points < 0 else "+"
    digits = 1 if 0.05 <= abs(points) < 1 else 0
    return f"{sign}{abs(points):.{digits}f} pts"


_MIRRORED: dict[Rounding, Rounding] = {"nearest": "nearest", "down": "up", "up": "down"}


def _bounded(value: float, rounding: Rounding) -> float:
    """A value of 0 or more as a bound of three digits, or of whole units below 100."""
    if rounding == "nearest" or value <= 0:
        return value
    unit = 10.0 ** max(0, math.floor(math.log10(value)) - 2)
    steps = _whole_if_near(value / unit)
    return (math.floor(steps) if rounding == "down" else math.ceil(steps)) * unit


def _whole_if_near(value: float) -> float:
    """Without what floating point adds to a whole number: 56.00000000000001 is 56."""
    return round(value, 9)


def _one_digit_below(value: float) -> str:
    """The first digit of a number below 1, cut off there: 0.47 -> "0.4"."""
    if value <= 0:
        return "0"
    digits = -math.floor(math.log10(value))
    return f"{math.floor(_whole_if_near(value * 10**digits)) / 10**digits:.{digits}f}"


def _three_digits(value: float) -> str:
    """Three significant digits, no exponent: 5.22, 52.2, 522."""
    size = abs(value)
    return f"{value:.2f}" if size < 9.995 else f"{value:.1f}" if size < 99.95 else f"{value:.0f}"
