"""How long the single calls of one kernel took, all runs in one picture."""

from collections.abc import Sequence

import plotly.graph_objects as go

from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette

_MOST_BARS = 40  # of all runs together: a panel is 380 px wide


def duration_histogram(
    labels: Sequence[str], durations_ns: Sequence[Sequence[int]], palette: Palette
) -> go.Figure:
    """Calls per bin of duration; runs stand beside each other, in the colours of their sides.

    Args:
        labels: one for each run, the baseline first.
        durations_ns: the single calls of each run; a run without the kernel is an empty list.
        palette: the mode's colours.
    """
    figure = new_figure(palette)
    everything = [d for run in durations_ns for d in run]
    low, high = min(everything, default=0), max(everything, default=1)
    n_bins = _MOST_BARS // max(1, sum(bool(run) for run in durations_ns)) or 1
    width = max((high - low) / n_bins, 1.0)
    for run, (label, durations) in enumerate(zip(labels, durations_ns, strict=True)):
        if not durations:
            continue
        counts = [0] * (n_bins + 1)
        for duration in durations:
            counts[min(int((duration - low) / width), n_bins)] += 1
        figure.add_bar(
            x=[(low + (i + 0.5) * width) / 1e3 for i in range(len(counts))],
            y=counts,
            name=plotly_text(label),
            marker={"color": palette.run(run)},
            hovertemplate=f"{plotly_text(label)}: %{{y}} calls near %{{x:.2f}} µs<extra></extra>",
        )
    figure.update_layout(
        barmode="group",
        bargap=0.1,
        height=220,
        xaxis={"title": {"text": "duration of a call, µs"}},
        yaxis={"title": {"text": "calls"}, "rangemode": "tozero"},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        showlegend=True,
    )
    return figure
