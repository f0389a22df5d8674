"""What compiling did to overlap, as rows: the exchange by kind, what moved, what it slows."""

from collections.abc import Callable, Sequence

from profiler_core.analysis.ranks.collective_kinds import plural
from profiler_core.analysis.ranks.overlap import Moved, Overlap, OverlapRow, Times
from profiler_core.analysis.ranks.slowed_kernels import kernel_of_label
from profiler_core.analysis.rows.table import Cell, Table, text_row
from profiler_core.units import format_bytes, format_count, format_duration
from profiler_core.units import format_share as share

TITLE = "What became of the overlap"
MEANING = (
    "Per profiled step, on the rank that the others wait for most, without waiting for ranks that "
    "are here. Exposed: no kernel runs beside the transfer. Holding up: of that, the kernel that "
    "follows was queued already, so that hiding the transfer could save it; the rest is the "
    "host's, which the profiler slows."
)
_HEADS = ("Collective", "Calls", "Bytes", "Transfer", "Exposed", "Holding up")
_MOST = 8  # kernels, and collectives that moved, of a table


def overlap_table(result: Overlap) -> Table:
    """A row for each kind and process group, each value as baseline → candidate."""
    return Table(_HEADS, tuple(map(_row, result.rows)))


def overlap_sentences(result: Overlap) -> tuple[str, ...]:
    """What moved, what is cut in another way, what collectives slow; none where nothing is told."""
    texts = [
        f"In the candidate {plural(label)} are cut into other calls or sizes."
        for label in result.regrouped
    ]
    for label in dict.fromkeys(row.label for row in result.moved):
        texts += _moved_text(label, [row for row in result.moved if row.label == label])
    before_ns, after_ns = result.slowed_ns
    if max(before_ns, after_ns) >= _LEAST_SLOWED_NS:
        texts.append(
            "Kernels take longer beside collectives, which hold multiprocessors: "
            f"{format_duration(before_ns)} → {format_duration(after_ns)} per step."
        )
    return tuple(texts)


_LEAST_SLOWED_NS = 10_000


def slowed_table(result: Overlap, side: int, kernels: Sequence[str] = ()) -> Table:
    """The kernels of one side that collectives slow most.

    Args:
        result: of both.
        side: 0: the baseline, 1: the candidate.
        kernels: names of those that have a dossier.
    """
    slowed = result.slowed_kernels[side]
    rows = tuple(
        (
            Cell(kernel.label, is_code=True, item=kernel_of_label(kernel.label, kernels)),
            *text_row(
                f"{format_count(kernel.n_beside)} of "
                f"{format_count(kernel.n_beside + kernel.n_alone)}",
                f"{format_duration(kernel.alone_ns)} → {format_duration(kernel.beside_ns)}",
                format_duration(kernel.slowed_ns),
            ),
        )
        for kernel in slowed[:_MOST]
    )
    heads = ("Kernel", "Calls beside a collective", "A call alone → beside", "Longer, per step")
    return Table(heads, rows, n_left_out=max(0, len(slowed) - _MOST))


def _row(row: OverlapRow) -> tuple[Cell, ...]:
    of = f" of {row.group_size}" if row.group_size else ""
    group = f" ({row.group})" if row.group else ""
    return text_row(
        f"{row.label}{of}{group}",
        _pair(row.n, format_count),
        _pair(row.bytes, format_bytes),
        *(_pair(t, format_duration) for t in (row.transfer_ns, row.exposed_ns, row.holding_up_ns)),
    )


def _pair(values: Times, text: Callable[[float | None], str]) -> str:
    left, right = (text(value) for value in values)
    return left if left == right else f"{left} → {right}"


def _moved_text(label: str, rows: list[Moved]) -> list[str]:
    texts = []
    for word, own in (
        ("later", [row for row in rows if row.later > 0]),
        ("earlier", [row for row in rows if row.later < 0]),
    ):
        if own:
            farthest = max(own, key=lambda row: abs(row.later))
            starts = "starts" if len(own) == 1 else "start"
            n = f"{len(own)} {label if len(own) == 1 else plural(label)} {starts}"
            texts.append(
                f"{n} {word} in the step's compute, number {farthest.number + 1} the farthest: "
                f"after {share(farthest.compute_before[1])} of it, in the baseline after "
                f"{share(farthest.compute_before[0])}."
            )
    return texts
