"""All ranks together, side by side for the runs, and the collectives with their bandwidth."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from profiler_core.analysis.ranks.comparison import Measure, measures
from profiler_core.analysis.ranks.job import CollectiveRow
from profiler_core.ui.page import section
from profiler_core.ui.ranks.data import SeenJob
from profiler_core.units import format_bytes, format_change, format_count, format_duration
from profiler_core.units import format_share as share

_SAME = 0.02  # a change below this is the same


def show_measures(jobs: Sequence[SeenJob]) -> None:
    """One line for each measure, one column for each run."""
    section("All ranks together", "Per step, profiled; means over the ranks.")
    rows = [m for m in measures(tuple(job_seen.job for job_seen in jobs)) if any(_has(m))]
    heads = "".join(f"<th>{escape(job_seen.label)}</th>" for job_seen in jobs)
    body = "".join(_measure(m) for m in rows)
    st.html(
        f"<div class=fs-scroll><table class=fs-t style='max-width:{260 + 230 * len(jobs)}px'>"
        f"<thead><tr><th></th>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _has(measure: Measure) -> list[bool]:
    return [v is not None or measure.key == "straggler" for v in measure.values]


def _measure(measure: Measure) -> str:
    cells = []
    first = measure.values[0]
    for number, value in enumerate(measure.values):
        change, kind = "", ""
        if number and first and value is not None and measure.unit in ("ns", "bytes_per_s"):
            change = format_change(value / first)
            if measure.better and abs(value / first - 1) >= _SAME:
                kind = " fs-b" if (value > first) == (measure.better > 0) else " fs-w"
        of_change = f'<span class="fs-d{kind}">{change}</span>' if number else ""
        cells.append(f"<td>{_text(measure, value)}{of_change}</td>")
    head = f'<abbr class=fs-def title="{escape(measure.meaning)}">{escape(measure.label)}</abbr>'
    return f"<tr><th scope=row>{head}</th>{''.join(cells)}</tr>"


def _text(measure: Measure, value: float | None) -> str:
    if measure.unit == "ns":
        return format_duration(value)
    if measure.unit == "bytes_per_s":
        return bandwidth(value)
    if measure.unit == "rank":
        return "none" if value is None else f"rank {value:.0f}"
    return share(value)


def bandwidth(value: float | None) -> str:
    """Bytes a second as people read it."""
    return "–" if value is None else f"{format_bytes(value)}/s"


_HEADS = (
    ("", ""),
    ("Collective", ""),
    ("Calls", "A step and rank."),
    ("Bytes", "A step and rank: the larger of what goes in and what comes out."),
    ("Without waiting", "Time of the fastest rank: the one that came last waits for nobody."),
    ("Waiting", "What the kernels of the other ranks last longer, per step and rank."),
    (
        "Bus bandwidth",
        "Bytes over the time without waiting, times the factor of nccl-tests for the number of "
        "ranks: comparable with the bandwidth of the links.",
    ),
)


def show_collectives(jobs: Sequence[SeenJob]) -> None:
    """Each kind of collective with what it moves and how fast, the runs below each other."""
    if not any(job_seen.job.collectives for job_seen in jobs):
        return
    section("Collectives")
    heads = "".join(
        f'<th><abbr class=fs-def title="{escape(meaning)}">{head}</abbr></th>'
        if meaning
        else f"<th>{head}</th>"
        for head, meaning in _HEADS
    )
    body = "".join(
        _collective(job_seen.label if position == 0 else "", row)
        for job_seen in jobs
        for position, row in enumerate(job_seen.job.collectives)
    )
    st.html(
        "<div class=fs-scroll><table class='fs-t' style='max-width:1040px'>"
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _collective(label: str, row: CollectiveRow) -> str:
    of = f" of {row.group_size}" if row.group_size else ""
    return (
        f"<tr><th scope=row>{escape(label)}</th><td>{escape(row.label)}{of}</td>"
        f"<td>{format_count(row.n)}</td><td>{format_bytes(row.bytes)}</td>"
        f"<td>{format_duration(row.transfer_ns)}</td><td>{format_duration(row.wait_ns)}</td>"
        f"<td>{bandwidth(row.bus_bandwidth)}</td></tr>"
    )
