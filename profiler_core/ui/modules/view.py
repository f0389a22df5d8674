"""How the page of modules divides the time, and which rows a search leaves."""

from collections.abc import Sequence
from typing import TypeVar

import streamlit as st

from profiler_core.analysis.graph_replays.phases import Bucket
from profiler_core.analysis.modules import ModuleRow
from profiler_core.analysis.operators import OperatorRow
from profiler_core.analysis.rows.modules import row_title
from profiler_core.analysis.rows.server import bucket_name
from profiler_core.ui.address import in_address

ALL_STEPS = "all steps"
LAYERS, CLASSES, OPERATORS = "layer by layer", "by class", "operators"

Row = TypeVar("Row", ModuleRow, OperatorRow)


def choose_view(*, has_modules: bool) -> str:
    """Draw the control; operators alone where no module is known."""
    if not has_modules:
        return OPERATORS
    picked = st.segmented_control(
        "Divided", [LAYERS, CLASSES, OPERATORS], default=LAYERS, required=True,
        label_visibility="collapsed", **in_address("view", LAYERS),
    )  # fmt: skip
    return picked or LAYERS


def choose_words() -> str:
    """Draw the search."""
    words = st.text_input(
        "Search modules and operators", width=300, max_chars=200,
        placeholder="ln_1 h.3, LayerNorm, linear", **in_address("find"),
    )  # fmt: skip
    return words or ""


def choose_steps(buckets: Sequence[Bucket]) -> Bucket | None:
    """Draw the choice among a server's steps, where there are any; None: all of them."""
    if not buckets:
        return None
    names = {bucket_name(bucket): bucket for bucket in buckets}
    picked = st.selectbox(
        "Steps", [ALL_STEPS, *names], width=200,
        **in_address("steps", ALL_STEPS),
    )  # fmt: skip
    return names.get(picked or ALL_STEPS)


def matching(rows: Sequence[Row], words: str) -> list[Row]:
    """Rows whose name, path or class holds every word."""
    needles = words.lower().split()
    return [row for row in rows if all(needle in _searched(row) for needle in needles)]


def _searched(row: ModuleRow | OperatorRow) -> str:
    if isinstance(row, OperatorRow):
        return row.op.lower()
    return f"{row.path} {row.class_name} {row_title(row)}".lower()
