"""What the names of compiled regions tell where no log does."""

import gzip
import json
from pathlib import Path

import pytest

from profiler_core.analysis.compilation.traced_frames import traced_frames
from profiler_core.analysis.wording.traced_frames import traced_sentences, traced_title
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.model.trace import Trace
from tests.builders import a_trace, op, step

CAPTURE = Path(__file__).parents[2] / "fixtures" / "captures" / "dynshape.default+static"


def entering(*steps: tuple[str, ...], marked: bool = True) -> Trace:
    """Steps of 1 µs, which enter these compilations one after another."""
    tables = {"annotations": [], "ops": []}
    for number, regions in enumerate(steps):
        start = 1000 * number
        if marked:
            tables["annotations"].append(step(number, start, 1000))
        tables["ops"] += [
            op(start + 100 * place, 90, f"Torch-Compiled Region: {region}")
            for place, region in enumerate(regions)
        ]
    return a_trace(**tables)


def said(trace: Trace) -> tuple[str, str]:
    traced = traced_frames(trace)
    n = traced.n_compilations
    return traced_title(traced, n), " ".join(traced_sentences(traced, n))


def test_a_frame_that_is_compiled_anew_for_each_input_has_no_breaks():
    """ "5 compiled regions" stood there, and that something breaks the graph between them."""
    assert said(entering(("0/3",), ("0/4",), ("0/5",), ("0/6",), ("0/7",))) == (
        "5 compilations of 1 frame",
        "Frame 0 was compiled anew: 0/3, 0/4, 0/5, 0/6 and 0/7 are entered, with 0.2 entries per "
        "step each; by these numbers 3 earlier compilations are not. Which lines they are of and "
        "why a frame was compiled anew, only a log says.",
    )


@pytest.mark.parametrize(
    ("steps", "title", "words"),
    [
        (
            [()] * 2, "Compiled code outside of a region",
            "Which lines it is of, only a log says.",
        ),
        ([("0/0",)] * 2, "1 compiled region", "Which line it is of, only a log says."),
        (
            [("0/0", "1/0")] * 2, "2 compiled regions",
            "Which lines they are of and what breaks the graph between frames, only a log says.",
        ),
        (  # no step has both
            [("0/0",), ("1/0",)], "2 compiled regions",
            "Which lines they are of, only a log says.",
        ),
        (
            [("0/1",)] * 2, "1 compiled region",
            "Frame 0 was compiled anew: 0/1 is entered, with 1 entry per step; by these numbers "
            "1 earlier compilation is not. Which line it is of and why a frame was compiled anew, "
            "only a log says.",
        ),
        (
            [("0/0", "4/0", "4/1", "4/1")] * 2, "3 compilations of 2 frames",
            "Frame 4 was compiled anew: 4/0 and 4/1 are entered, with 1 and 2 entries per step. "
            "Which lines they are of, why a frame was compiled anew and what breaks the graph "
            "between frames, only a log says.",
        ),
    ],
)  # fmt: skip
def test_frames_and_their_compilations_are_told_apart(steps, title, words):
    assert said(entering(*steps)) == (title, words)


def test_without_steps_nothing_lies_within_one():
    title, words = said(entering(("0/0", "0/1"), ("1/0",), marked=False))
    assert title == "3 compilations of 2 frames"
    assert "with 1 entry in the trace each" in words and "between" not in words


def test_a_capture_of_many_shapes_counts_as_its_json_does():
    path = CAPTURE / "trace.json.gz"
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    begin = "Torch-Compiled Region: "
    names = [e["name"] for e in events if str(e.get("name")).startswith(begin)]
    n_steps = sum(
        str(e.get("name")).startswith("ProfilerStep") and e.get("cat") == "user_annotation"
        for e in events
    )
    ids = {name.removeprefix(begin): names.count(name) / n_steps for name in names}
    traced = traced_frames(read_kineto(path))
    assert {key: n for frame in traced.frames for key, n in frame.entries} == ids
    assert {frame.frame for frame in traced.frames} == {key.split("/")[0] for key in ids}
    assert not traced.meet
