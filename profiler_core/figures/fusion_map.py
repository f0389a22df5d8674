"""The fusion map as a figure of Plotly, for reports; pages draw `fusion_svg.py`."""

from collections.abc import Sequence

from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.figures.fusion_drawing import (
    FOOT_PX,
    HEAD_PX,
    LEFT_PX,
    RIGHT_PX,
    Drawing,
    Label,
    Line,
    Words,
)
from profiler_core.figures.fusion_layout import fusion_layout
from profiler_core.figures.fusion_panel import Panel
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import Figure, new_figure
from profiler_core.figures.theme import Palette, translucent

_CURVE = tuple((i / 20, 3 * (i / 20) ** 2 - 2 * (i / 20) ** 3) for i in range(21))
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}

_Outline = tuple[list[float | None], list[float | None]]


def fusion_map(
    groups: Sequence[FoldedGroup],
    labels: tuple[str, str],
    palette: Palette,
    *,
    height_px: int = 720,
    time: str = "GPU time",
    span: Span = PER_STEP,
) -> Figure:
    """One candidate: `fusion_maps` with a single panel."""
    return fusion_maps(
        [Panel(labels[1], groups)], labels[0], palette, height_px=height_px, time=time, span=span
    )


def fusion_maps(
    panels: Sequence[Panel],
    baseline: str,
    palette: Palette,
    *,
    height_px: int = 720,
    time: str = "GPU time",
    span: Span = PER_STEP,
) -> Figure:
    """All shapes of a colour as one trace; the bars named "groups" answer to the pointer.

    They carry (position in the panel's groups or -1, panel) as customdata.
    """
    drawing = fusion_layout(panels, baseline, palette, height_px=height_px, time=time, span=span)
    figure = new_figure(drawing.palette)
    for _, targets in drawing.panels():
        # A filled area hears nothing of the pointer: invisible bars do.
        figure.add_bar(
            name="groups", orientation="h", base=targets[0].x[0],
            x=[target.x[1] - target.x[0] for target in targets],
            y=[sum(target.y_ns) / 2 for target in targets],
            width=[target.y_ns[1] - target.y_ns[0] for target in targets],
            marker={"color": "rgba(0,0,0,0)", "line": {"width": 0}},
            customdata=[
                [-1 if target.position is None else target.position, target.panel]
                for target in targets
            ],
            hovertext=[_hover(target.hover) for target in targets], hoverinfo="text",
            selected={"marker": {"opacity": 0}}, unselected={"marker": {"opacity": 0}},
        )  # fmt: skip
    _fill(figure, drawing)
    for saving in drawing.savings:
        figure.add_shape(
            type="rect", x0=saving.x[0], x1=saving.x[1], y0=saving.y_ns[0], y1=saving.y_ns[1],
            line={"width": 1, "dash": "dot", "color": saving.colour},
            fillcolor=translucent(saving.colour, 0.07),
        )  # fmt: skip
    for label in drawing.labels:
        _write(figure, label)
    figure.update_layout(
        height=drawing.height_px, showlegend=False,
        margin={"l": LEFT_PX, "r": RIGHT_PX, "t": HEAD_PX, "b": FOOT_PX},
        barmode="overlay", clickmode="event+select", dragmode=False, hovermode="closest",
        xaxis={"visible": False, "range": [-0.002, 1.002]},
        yaxis={
            "range": [drawing.lowest_ns, 0],
            "tickvals": [ns for ns, _ in drawing.axis.ticks],
            "ticktext": [words for _, words in drawing.axis.ticks],
            "title": {"text": drawing.axis.title},
        },
    )  # fmt: skip
    return figure


def _fill(figure: Figure, drawing: Drawing) -> None:
    palette = drawing.palette
    hairline = {"width": 0.8, "color": palette.surface}  # keeps neighbours apart
    for (colour, opacity), ribbons in drawing.ribbons.items():
        xs, ys = _new_outline()
        for ribbon in ribbons:
            across = [ribbon.x[0] + (ribbon.x[1] - ribbon.x[0]) * t for t, _ in _CURVE]
            (top, other_top), (end, other_end) = ribbon.tops_ns, ribbon.ends_ns
            upper = [top + (other_top - top) * e for _, e in _CURVE]
            lower = [end + (other_end - end) * e for _, e in _CURVE]
            xs += [*across, *reversed(across), across[0], None]
            ys += [*upper, *reversed(lower), upper[0], None]
        figure.add_scatter(
            x=xs, y=ys, fill="toself", mode="lines", line=hairline, hoverinfo="skip",
            fillcolor=translucent(colour, opacity),
        )  # fmt: skip
    for category, stacks in drawing.stacks.items():
        xs, ys = _new_outline()
        for stack in stacks:
            (left, right), (top, end) = stack.x, stack.y_ns
            xs += [left, right, right, left, left, None]
            ys += [top, top, end, end, top, None]
        figure.add_scatter(
            x=xs, y=ys, fill="toself", mode="lines", line={"width": 0}, hoverinfo="skip",
            fillcolor=palette.category(category),
        )  # fmt: skip


def _new_outline() -> _Outline:
    return [], []


def _write(figure: Figure, label: Label) -> None:
    figure.add_annotation(
        x=label.x, y=label.y_ns, showarrow=False, text="<br>".join(map(_markup, label.lines)),
        xanchor=_ANCHORS[label.anchor], align=_ANCHORS[label.anchor],
        xshift=label.shift_px[0], yshift=label.shift_px[1],
        font={"size": label.size_px, "color": label.colour},
    )  # fmt: skip


def _markup(line: Line) -> str:
    return "".join(_with_look(words) for words in line if not words.is_instead)


def _with_look(words: Words) -> str:
    text = plotly_text(words.text)
    if words.is_bold:
        text = f"<b>{text}</b>"
    style = f"font-size:{words.size_px}px;" if words.size_px is not None else ""
    style += f"color:{words.colour}" if words.colour is not None else ""
    return f'<span style="{style}">{text}</span>' if style else text


def _hover(lines: tuple[str, ...]) -> str:
    title, *others = map(plotly_text, lines)
    return "<br>".join([f"<b>{title}</b>", *others])
