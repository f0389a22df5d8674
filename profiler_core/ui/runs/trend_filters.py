"""What the trends show: filters with only those values that occur, all of it in the address."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import streamlit as st

from profiler_core.figures.trend import Order
from profiler_core.session.cache import SHARED
from profiler_core.store import history
from profiler_core.ui.address import in_address

_LABELS = {
    "workload": "Workload",
    "variant": "Variant",
    "gpu": "GPU",
    "torch": "torch",
    "branch": "Branch",
    "tag": "Tag",
    "person": "Person",
}
# In the order in which people ask.
METRICS = {
    "step_time_ns": "Step time",
    "n_kernels": "Kernels",
    "n_launches": "Launches",
    "n_graph_breaks": "Breaks",
    "n_recompiles": "Recompiles",
    "compile_s": "Compiling",
    "peak_reserved_bytes": "Memory",
    "energy_per_step_j": "Energy",
}
_PERIODS = {"All": 0, "A year": 366, "90 days": 90, "30 days": 30, "7 days": 7}
_ORDERS: Mapping[str, Order] = {"By date": "time", "By run": "run"}


def choose_metric() -> tuple[str, Order, str]:
    """Draw the controls: the number, the axis, and since when (ISO 8601; empty: all of it)."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        title = st.segmented_control(
            "Number", list(METRICS.values()), default=METRICS["step_time_ns"], required=True,
            label_visibility="collapsed", **in_address("number", METRICS["step_time_ns"]),
        )  # fmt: skip
        order = st.segmented_control(
            "Axis", list(_ORDERS), default="By date", required=True,
            label_visibility="collapsed", **in_address("axis", "By date"),
        )  # fmt: skip
        period = st.segmented_control(
            "Period", list(_PERIODS), default="All", required=True,
            label_visibility="collapsed", **in_address("period", "All"),
        )  # fmt: skip
    metric = next((key for key, words in METRICS.items() if words == title), "step_time_ns")
    n_days = _PERIODS.get(period or "", 0)
    since = f"{datetime.now(UTC) - timedelta(days=n_days):%Y-%m-%d}" if n_days else ""
    return metric, _ORDERS.get(order or "", "time"), since


def choose_filters() -> history.RunFilter:
    """Draw the filters; one with a single value to choose is left out, it would do nothing."""
    asked = ("choices", *history.version())
    choices = SHARED.get(
        asked, lambda: history.lasting(asked, dict[str, tuple[str, ...]], history.choices)
    )
    chosen: dict[str, tuple[str, ...]] = {}
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="fs_filters"):
        for name, label in _LABELS.items():
            values = choices[name]
            # A tag splits tagged from untagged runs, so one is a choice already.
            if len(values) > 1 or (name == "tag" and values):
                names = history.names_of(values)
                picked = st.multiselect(
                    label, list(values), placeholder="all", width=156,
                    format_func=names.__getitem__, **in_address(name),
                )  # fmt: skip
                chosen[name] = tuple(picked)
        commit = st.text_input(
            "Commit", max_chars=64, width=120, placeholder="begins with",
            **in_address("commit"),
        )  # fmt: skip
    return history.RunFilter(
        workload=chosen.get("workload", ()),
        variant=chosen.get("variant", ()),
        gpu=chosen.get("gpu", ()),
        torch=chosen.get("torch", ()),
        branch=chosen.get("branch", ()),
        tag=chosen.get("tag", ()),
        person=chosen.get("person", ()),
        commit=commit.strip(),
    )
