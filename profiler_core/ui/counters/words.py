"""What counters say of kernels, in words and in the lines of a table."""

from collections.abc import Iterable

from profiler_core.analysis.counters.groups import MeasuredLedger
from profiler_core.analysis.counters.kernels import KernelCounters
from profiler_core.analysis.counters.measured import Measured
from profiler_core.analysis.counters.residence import Residence, residence
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.units import format_bytes, format_share, format_share_of

_WHERE: dict[Residence, str] = {
    "memory": "Nearly all of it goes through the memory.",
    "partly in L2": "The rest stays in the L2 cache.",
    "in L2": "It stays in the L2 cache.",
    "more than shapes": "Copies of layouts or buffers of the library come on top.",
}


def detail_lines(
    sides: list[KernelCounters | None], span: Span = PER_STEP
) -> list[tuple[str, list[str]]]:
    """Lines of a table, (head, a cell for each run); lines that no run fills are left out."""
    lines = [
        (f"DRAM read, {span}", [_bytes(s, "dram_read_bytes") for s in sides]),
        ("DRAM written", [_bytes(s, "dram_write_bytes") for s in sides]),
        ("By shapes, read and written", [_by_shapes(s) for s in sides]),
        ("Bandwidth of DRAM", [_bandwidth(s) for s in sides]),
        ("L2 read", [_bytes(s, "l2_read_bytes") for s in sides]),
        ("L2 written", [_bytes(s, "l2_write_bytes") for s in sides]),
        ("Occupancy", [_percent(s.measured.occupancy_pct) if s else "–" for s in sides]),
        ("Tensor pipe", [_tensor(s.measured) if s else "–" for s in sides]),
    ]
    return [line for line in lines if any(cell != "–" for cell in line[1])]


def traffic_sentence(
    measured: Measured, estimated_bytes: float | None, span: Span = PER_STEP
) -> str | None:
    """For instance: Measured: 103 MB read from DRAM and 98.0 MB written, per step: 98 % of ….

    None where the counters hold no DRAM bytes.
    """
    moved = measured.dram_bytes
    if moved is None:
        return None
    text = (
        f"Measured: {format_bytes(measured.dram_read_bytes)} read from DRAM and "
        f"{format_bytes(measured.dram_write_bytes)} written, {span}"
    )
    source = residence(moved, estimated_bytes)
    if source is None or not estimated_bytes:
        return f"{text}."
    share = format_share_of(moved, estimated_bytes).replace(" ", "\u00a0")
    return f"{text}: {share} of what shapes say. {_WHERE[source]}"


def dram_change(measured: MeasuredLedger, groups: Iterable[int]) -> str:
    """Of some groups together, for instance: 205 MB → 103 MB; – where a side has no row."""
    sides = []
    numbers = list(groups)
    for side in (0, 1):
        moved = [
            group_counters.dram_bytes
            for n in numbers
            if (group_counters := measured.of(n, side)) is not None
        ]
        sizes = [group_counters for group_counters in moved if group_counters is not None]
        sides.append(format_bytes(sum(sizes)) if sizes else "–")
    return "" if sides == ["–", "–"] else " → ".join(sides)


def use_sentence(measured: Measured) -> str | None:
    """For instance: DRAM at 4.2 TB/s, 87 % of its peak; L2: 154 MB read, 51 MB written; ….

    None where the counters hold none of these.
    """
    parts = []
    if measured.dram_bytes_per_s is not None:
        share = _percent(measured.dram_pct)
        of_peak = "" if measured.dram_pct is None else f", {share} of its peak"
        parts.append(f"DRAM at {format_bytes(measured.dram_bytes_per_s)}/s{of_peak}")
    if measured.l2_read_bytes is not None:
        written = format_bytes(measured.l2_write_bytes)
        parts.append(f"L2: {format_bytes(measured.l2_read_bytes)} read, {written} written")
    if measured.occupancy_pct is not None:
        parts.append(f"occupancy {_percent(measured.occupancy_pct)}")
    if (tensor := _tensor(measured)) != "–":
        parts.append(f"tensor pipe {tensor}")
    return f"{'; '.join(parts)}." if parts else None


def _bytes(side: KernelCounters | None, column: str) -> str:
    return "–" if side is None else format_bytes(getattr(side.measured, column))


def _by_shapes(side: KernelCounters | None) -> str:
    if side is None or side.estimated_bytes is None:
        return "–"
    source = residence(side.measured.dram_bytes, side.estimated_bytes)
    text = format_bytes(side.estimated_bytes)
    return text if source is None else f"{text}<br><small>{_WHERE[source]}</small>"


def _bandwidth(side: KernelCounters | None) -> str:
    if side is None or side.measured.dram_bytes_per_s is None:
        return "–"
    text = f"{format_bytes(side.measured.dram_bytes_per_s)}/s"
    share = side.measured.dram_pct
    return text if share is None else f"{text} <small>{_percent(share)} of the peak</small>"


def _percent(value: float | None) -> str:
    return format_share(None if value is None else value / 100)


def _tensor(measured: Measured) -> str:
    if measured.tensor_pct is not None:
        return f"{_percent(measured.tensor_pct)} of its cycles"
    if measured.n_tensor is None:
        return "–"
    if measured.n_tensor == measured.n:
        return "used"
    return f"used in {measured.n_tensor} of {measured.n} calls" if measured.n_tensor else "not used"
