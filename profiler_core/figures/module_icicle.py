"""Where the step goes by nn.Module: an icicle for each run, on one scale."""

from collections.abc import Sequence

import plotly.graph_objects as go

from profiler_core.analysis.item import module_item
from profiler_core.analysis.modules import ModuleRow, ModuleTree
from profiler_core.analysis.rows.modules import counted_calls, name_in_tree
from profiler_core.analysis.span import spanned
from profiler_core.figures.icicle import PATH_BAR_PX, icicle_style
from profiler_core.figures.names import plotly_text
from profiler_core.figures.template import new_figure
from profiler_core.figures.theme import Palette
from profiler_core.units import format_count, format_difference, format_duration, format_share_of

_ROW_PX = 26
_MOST_BOXES = 900  # of a run
_GAP = 0.02
_LEAST_WIDTH = 0.12  # of the figure: a run of a tenth of the other's time can be read
_EVEN = 0.02  # a smaller change is none
_HEAD_PX = 26
_WIDE_HEAD = 0.45  # of the figure: name and time of a run, beside a dossier


def module_icicle(
    tree: ModuleTree,
    labels: Sequence[str],
    palette: Palette,
    *,
    is_pair: bool,
    beside: int | None = None,
) -> go.Figure:
    """Boxes as wide as their time; of a pair the candidate's boxes say faster or slower in colour.

    Each box's custom data is the dossier of its module, "" of the whole step.

    Args:
        tree: of the runs.
        labels: what they are called.
        palette: of the page.
        is_pair: draw both sides; else the candidate's alone.
        beside: place of the one of several candidates beside which dossiers tell of a module.
    """
    figure = new_figure(palette)
    sides = (0, 1) if is_pair else (1,)
    totals = [tree.root.step_ns(side) for side in sides]
    room = 1 - _GAP * (len(sides) - 1)
    widths = [max(_LEAST_WIDTH, total / (sum(totals) or 1)) for total in totals]
    left = 0.0
    for side, width, total in zip(sides, widths, totals, strict=True):
        right = left + room * width / sum(widths)
        rows = _shown(tree, side)
        fills = [_fill(row, side, palette, tree, is_pair=is_pair) for row in rows]
        figure.add_icicle(
            ids=[row.path or "step" for row in rows],
            parents=["" if not row.path else row.above or "step" for row in rows],
            labels=[plotly_text(_label(row)) for row in rows],
            values=[row.sides[side].time_ns for row in rows],
            customdata=[
                module_item(row.path).beside(beside).text if row.path else "" for row in rows
            ],
            hovertext=[_hover(row, side, total, labels, tree) for row in rows],
            **icicle_style(fills, palette),
            domain={"x": [left, right]},
            name=labels[side],
        )
        head = f"<b>{plotly_text(labels[side])}</b> {format_duration(total)} {tree.span}"
        _add_head(figure, head, (left, right), palette)
        left = right + _GAP
    depth = max((row.depth for row in tree.rows), default=0) + 1
    figure.update_layout(
        uniformtext={"minsize": 10, "mode": "hide"},
        height=depth * _ROW_PX + PATH_BAR_PX + _HEAD_PX + 8,
        uirevision=" ".join(labels),
        margin={"l": 0, "r": 0, "t": PATH_BAR_PX + _HEAD_PX, "b": 4},
    )
    return figure


def _add_head(figure: go.Figure, text: str, extent: tuple[float, float], palette: Palette) -> None:
    """Name and time of a run above its boxes; above a narrow right side it ends where that does."""
    left, right = extent
    is_narrow = left > 0 and right - left < _WIDE_HEAD
    figure.add_annotation(
        x=right if is_narrow else left, y=1, xref="paper", yref="paper",
        xanchor="right" if is_narrow else "left", yanchor="bottom", text=text,
        yshift=PATH_BAR_PX, showarrow=False, font={"size": 13, "color": palette.ink},
    )  # fmt: skip


def _shown(tree: ModuleTree, side: int) -> list[ModuleRow]:
    """The widest boxes; none without the box that holds it, which is at least as wide."""
    rows = [row for row in tree.rows if row.sides[side].time_ns]
    order = {row.path: place for place, row in enumerate(rows)}
    widest = sorted(rows, key=lambda row: (-row.sides[side].time_ns, row.depth))[:_MOST_BOXES]
    return sorted(widest, key=lambda row: order[row.path])


def _fill(row: ModuleRow, side: int, palette: Palette, tree: ModuleTree, *, is_pair: bool) -> str:
    if not row.path:
        return palette.line
    strength = max(0.25, 0.8 - 0.09 * row.depth)
    before, after = row.step_ns(0), row.step_ns(1)
    if not is_pair or side == 0:
        return palette.tint(palette.baseline if is_pair else palette.accent, strength)
    if tree.change_ns(row) is None or abs(after - before) <= _EVEN * max(before, after):
        return palette.tint(palette.baseline, strength)
    return palette.tint(palette.better if after < before else palette.worse, strength)


def _label(row: ModuleRow) -> str:
    name = name_in_tree(row)
    of_class = f" {row.class_name}" if row.class_name and name.isdigit() else ""
    return f"{counted_calls(row)}{name}{of_class}"


def _hover(row: ModuleRow, side: int, total: float, labels: Sequence[str], tree: ModuleTree) -> str:
    own = row.sides[side]
    time = row.step_ns(side)
    named = f" · {plotly_text(row.class_name)}" if row.class_name else ""
    lines = [
        f"<b>{plotly_text(row.path[-160:] or spanned(tree.span))}</b>{named}",
        f"{format_duration(time)} · {format_share_of(time, total)} of "
        f"{plotly_text(labels[side])} · "
        f"{format_count(row.per_step(own.n_kernels, side))} kernels {tree.span}",
    ]
    if own.shared_ns:
        shared = row.per_step(own.shared_ns, side)
        lines.append(f"{format_duration(shared)} of it in kernels shared with other modules")
    change_ns = tree.change_ns(row)
    if change_ns and side:
        lines.append(f"{format_difference(change_ns)} against {plotly_text(labels[0])}")
    return "<br>".join(lines)
