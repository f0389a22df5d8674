"""The operator that started each device event: here, or in the capture of the graph it is of."""

import polars as pl

from profiler_core.analysis.graph_replays.launched import launched_captures
from profiler_core.model.trace import Trace


def event_operators(trace: Trace, events: pl.DataFrame) -> pl.DataFrame:
    """The innermost operator around the launch of device events, by the External id they carry.

    Args:
        trace: of the events.
        events: event (row of trace.device) and external_id.

    Returns:
        event, name (String), input_dims, input_types of those that have one, in order of event.
        A graph launch inside an operator gives all that it replays the operator's id: the
        captured call says more, and wins.
    """
    parts = []
    rest = events.select("event", "external_id")
    for capture in launched_captures(trace):
        replayed = rest.select("event").join(capture.events, on="event", how="inner")
        launched = capture.trace.device.with_row_index("launched").select("launched", "external_id")
        own = replayed.join(launched, on="launched", how="inner").drop("launched")
        parts.append(_by_id(capture.trace, own))
        rest = rest.join(capture.events, on="event", how="anti", maintain_order="left")
    parts.append(_by_id(trace, rest))
    return pl.concat(parts).sort("event")


def _by_id(trace: Trace, events: pl.DataFrame) -> pl.DataFrame:
    ids = events.select(pl.col("external_id").drop_nulls().unique())
    operators = (
        trace.ops.select("external_id", "name", "input_dims", "input_types")
        .join(ids, on="external_id", how="semi", maintain_order="left")
        .unique("external_id", keep="last", maintain_order=True)
        .with_columns(pl.col("name").cast(pl.String))
    )
    return events.join(operators, on="external_id", how="inner", maintain_order="left").drop(
        "external_id"
    )
