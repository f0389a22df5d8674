"""Bytes and FLOPs of a kernel or a group against its device, in sentences."""

from collections.abc import Iterator

from profiler_core.analysis.dossier.roofline import Roofline
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.analysis.wording.dossier import NEEDS_LOG, memory_share_text
from profiler_core.analysis.wording.sentence import counted
from profiler_core.units import (
    format_bytes,
    format_count,
    format_duration,
    format_operations,
    format_share,
)

_PRODUCTS_OF = {
    "kernel": " of its own",
    "operator": ", the total of its operators, as other kernels compute parts of it",
    "group": " of products",
}
_NOT_ITS_SHAPES = (
    "hold it back: it waits for latency, has too little to do for the whole device, or does more "
    "than these"
)
_LIMITS = {
    "memory": "At the memory's limit: only moving fewer bytes makes it faster.",
    "compute": "At the limit of the units that compute it: fewer or smaller products make it "
    "faster",
    "products": "Its products are at the limit of the units that compute them; the rest of its "
    "time is of other kernels. Fewer or smaller products make it faster",
    "neither": "Neither memory nor arithmetic holds it back: it waits for latency, or has too "
    "little to do for the whole device.",
}
_WITHOUT_FLOPS = (
    "How many operations it computes is not known here, so whether arithmetic holds it back cannot "
    "be told."
)
_HELPS = (
    "It only prepares or finishes what another kernel of its operator computes: the operations "
    "are told there."
)
_REPEATED = (
    "Rows of tables count as often as they are looked up, no table more than once: where they "
    "repeat it moves less."
)
_ONCE = (
    "A tensor that it changes in place counts once, as only its code tells which: it moves up to "
    f"twice as much, and may be at the memory's limit. Its code: {NEEDS_LOG}"
)


def roofline_sentences(line: Roofline, span: Span = PER_STEP) -> tuple[str, ...]:
    """Bytes and FLOPs with their rates, and what follows."""
    parts = [*_rates(line, span)]
    if line.kernels_per_call > 1:
        parts.append(
            f"{'These' if line.products_of != 'kernel' else 'Its bytes and their time'} are totals "
            f"of its operator, which starts {line.kernels_per_call:.3g} kernels, "
            "copies and memsets per call: shapes do not say what each of them moves and computes."
        )
    limit = _limit(line)
    return (*parts, limit) if limit else tuple(parts)


def _rates(line: Roofline, span: Span) -> Iterator[str]:
    """What it moves and computes, over its time and against the peaks."""
    if line.bytes_moved is not None and line.bytes_per_s is not None:
        moved = (
            format_bytes(line.bytes_moved)
            if line.looks_up
            else f"at least {format_bytes(line.bytes_moved, 'down')}"
        )
        text = (
            f"Moves {moved} {span} in "
            f"{format_duration(line.time_ns)}: {format_bytes(line.bytes_per_s)}/s"
        )
        if line.memory_share is not None:
            text += f", {memory_share_text(line)} of the memory's peak on {line.device}"
        yield f"{text}."
        if line.looks_up:
            yield _REPEATED
    if line.flops is not None and line.flops_per_s is not None:
        text = (
            f"Computes {format_operations(line.flops)} {span} in "
            f"{format_duration(line.products_ns)}{_PRODUCTS_OF[line.products_of]}: "
            f"{format_operations(line.flops_per_s)}/s"
        )
        if line.compute_share is not None:
            text += f", {format_share(line.compute_share)} of the {line.units} peak"
        yield f"{text}."


def _faster_units(line: Roofline) -> str:
    """What else makes products faster that are at the limit of their units; "" for the fastest."""
    return {
        "fp32": ", or Tensor Cores, in a lower precision",
        "TF32 Tensor Core": ", or 16 bits",
    }.get(line.units or "", "")


def _limit(line: Roofline) -> str:
    """What keeps it from being faster, a sentence; "" where that is not known."""
    if not line.device:
        return "The peaks of this device are not known."
    if line.limit in ("compute", "products"):  # whether or not its data comes out of the cache
        return f"{_LIMITS[line.limit]}{_faster_units(line)}."
    if line.only_helps:
        return _HELPS
    if line.fits_cache and line.memory_share is not None:
        in_cache = "The data of one call fits into the L2 cache, so it may never reach memory"
        if not line.waits_beside_products:
            return f"{in_cache}."
        return _products_at_no_limit(
            line, f"{in_cache}. The operations that its shapes demand do not"
        )
    if line.some_fit_cache and line.memory_share is not None:
        return (
            "The data of some calls fits into the L2 cache, so it may never reach memory; that of "
            "the largest does not fit."
        )
    if line.is_beside_collectives and line.memory_share is not None:
        return (
            f"Collectives run beside {format_share(line.share_beside)} of this time, so it does "
            "not say what limits it alone."
        )
    if line.outpaced_by is not None and not line.counts_once:
        return _outpaced(line, line.outpaced_by)
    if line.limit == "neither" and line.flops is not None:
        neither = "Neither the bytes nor the operations that its shapes demand"
        return _products_at_no_limit(line, neither)
    if line.limit in _LIMITS:
        return _LIMITS[line.limit]
    if line.memory_share is not None and line.lacks_flops:
        return _WITHOUT_FLOPS
    if line.memory_share is not None and line.counts_once:
        return _ONCE
    return ""


def _products_at_no_limit(line: Roofline, what: str) -> str:
    """That its products are slower than its shapes demand, and of few channels why they may be."""
    n = line.few_channels
    padding = f", such as pad the {counted(n, 'channel')} of its convolution" if n else ""
    return f"{what} {_NOT_ITS_SHAPES}{padding}."


def _outpaced(line: Roofline, other: Roofline) -> str:
    """That the memory is not its limit, as the other side of its groups shows."""
    faster = f"moves no fewer bytes at {format_share(other.memory_share)} of the peak"
    if not line.n_others:
        return f"It is not at the memory's limit: {other.label} {faster}."
    n = line.n_outpaced + line.n_others
    return (
        f"In {format_count(line.n_outpaced)} of the {format_count(n)} fusion groups that it runs "
        f"alone in it is not at the memory's limit: there {other.label} {faster}."
    )
