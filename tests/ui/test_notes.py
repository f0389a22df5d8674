"""Sentences below what they are about."""

from streamlit.testing.v1 import AppTest


def draw() -> None:
    from profiler_core.ui.notes import show_notes

    show_notes(["Kernels take longer beside collectives: 698 µs → 567 µs per step."])


def test_no_line_of_a_note_ends_before_a_unit() -> None:
    (note,) = AppTest.from_function(draw).run().get("html")
    assert "698\u00a0µs → 567\u00a0µs per step" in note.proto.body
