"""Progress of a sweep: its points, and the phases of the one that runs."""

import json

import pytest

from profiler_core.jobs.capture_progress import fold


def lines(*said):
    """(phase, variant, done, total, text) at one second each."""
    return [
        json.dumps(
            {"t": float(t), "phase": phase, "variant": variant, "done": done, "total": total,
             "text": text}
        ).encode()
        for t, (phase, variant, done, total, text) in enumerate(said)
    ]  # fmt: skip


def point(number, n=3):
    return ("point", None, number, n, f"Point {number} of {n}: batch size {8**number}")


def say(phase, variant=None):
    return (phase, variant, None, None, phase)


def test_a_new_point_begins_the_phases_anew():
    folded = fold(
        lines(point(1), say("starting"), say("finished", "eager"), say("finished"), point(2),
              say("compiling", "default"))
    )  # fmt: skip
    assert [(p.number, p.n_points, p.state) for p in folded.points] == [
        (1, 3, "finished"),
        (2, 3, "running"),
    ]
    assert folded.points[0].text == "Point 1 of 3: batch size 8"
    assert [phase.phase for phase in folded.phases] == ["compiling"]
    assert (folded.points[0].started_at, folded.points[0].updated_at) == (0.0, 3.0)


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ([say("failed", "eager"), say("failed", "default"), say("failed")], "failed"),
        ([say("failed", "default"), say("finished", "eager"), say("finished")], "partly"),
        # They did not fit on the device together, and ran one after another.
        ([say("failed", "default"), say("finished", "default"), say("finished")], "finished"),
        ([say("cancelled")], "cancelled"),
        ([say("timing", "eager")], "running"),
    ],
)
def test_a_point_ends_as_its_runs_did(said, state):
    assert fold(lines(point(1), *said)).points[0].state == state


def test_the_last_word_of_the_sweep_is_not_that_of_its_last_point():
    folded = fold(lines(point(1), say("failed", "eager"), say("failed"), say("finished")))
    assert folded.points[0].state == "failed"
    assert folded.latest is not None
    assert folded.latest.phase == "finished"


def test_a_capture_alone_has_no_points():
    assert fold(lines(say("starting"), say("finished"))).points == ()
