"""Half a character, a NUL, and names without end: a sentence wherever a person's words arrive."""

from collections.abc import Callable
from pathlib import Path

import pytest

from profiler_core.analysis.operator_arguments import json_list
from profiler_core.capture.spec import CaptureSpec
from profiler_core.door import deeds, experimenting
from profiler_core.door.asker import Asker
from profiler_core.errors import FusionscopeError, NotARun
from profiler_core.ingest.inductor.reader import _Graph
from profiler_core.ingest.run import open_run
from profiler_core.jobs import service as jobs
from profiler_core.store import catalogue, history, library
from profiler_core.store.catalogue import Wanted
from profiler_core.store.history.api_tokens import make_token

HALF, NUL, LONG = "a\ud800b", "a\0b", "x" * 200_000
ME = Asker("me", ("look", "capture"), is_own_machine=True)
LOOKED_UP: tuple[Callable[[str], object], ...] = (
    lambda word: library.entry(f"run/{word}/x"),
    lambda word: library.entry(f"path/tmp/{word}", allowed=(Path("/tmp"),)),
    lambda word: library.entry(f"history/{word}"),
    lambda word: catalogue.groups(Wanted(words=word)),
    lambda word: history.runs(history.RunFilter(workload=(word,), tag=(word,))),
    lambda word: history.entries(5, person=word, action=word),
    history.review,
    history.in_trash,
    jobs.job,
    lambda word: experimenting.resume_experiment(ME, word),
    lambda word: history.tag("r", word, person="me"),
    lambda word: history.set_baseline(word, "r", person="me", note=word),
    lambda word: make_token("me", word, ("read",), days=3),
)


@pytest.mark.parametrize("word", [HALF, NUL, LONG], ids=["half", "nul", "long"])
@pytest.mark.parametrize("look_up", LOOKED_UP)
def test_what_is_looked_up_ends_in_a_sentence_or_in_nothing(
    home: Path, look_up: Callable[[str], object], word: str
) -> None:
    try:
        answer = look_up(word)
    except FusionscopeError as error:
        assert len(error.problem) < 1000
    else:
        assert not answer or answer == catalogue.Page((), 0)


@pytest.mark.parametrize("word", [HALF, NUL, LONG], ids=["half", "nul", "long"])
@pytest.mark.parametrize(
    "start",
    [
        lambda word: deeds.start_capture(ME, CaptureSpec(workload=word)),
        lambda word: deeds.start_capture(ME, CaptureSpec(workload="customcnn", name=word)),
        lambda word: deeds.start_capture(ME, CaptureSpec(workload="customcnn", python=word)),
        lambda word: experimenting.start_experiment(
            ME, CaptureSpec(workload=word), experimenting.Wish("10m")
        ),
        lambda word: experimenting.start_experiment(
            ME, CaptureSpec(workload="customcnn"), experimenting.Wish("10m", (word,))
        ),
        lambda word: deeds.ask_interpreter(ME, word),
    ],
)
def test_what_can_stand_in_no_command_line_becomes_no_job(
    home: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[str], object], word: str
) -> None:
    submitted: list[object] = []
    monkeypatch.setattr(jobs, "submit", lambda *words, **_: submitted.append(words))
    with pytest.raises(FusionscopeError) as refused:
        start(word)
    assert len(refused.value.problem) < 2000
    assert (submitted, history.entries()) == ([], ())


def test_a_record_that_nests_without_end_is_a_sentence(home: Path) -> None:
    run = home / "runs" / "c" / "eager"
    run.mkdir(parents=True)
    (run / "run.json").write_text('{"run_id": "r", "spec": {"a": ' + "[" * 100_000)
    with pytest.raises(NotARun, match="no record of a run"):
        open_run(run)
    assert json_list("[" * 100_000) == []
    graph = _Graph("0/0", "", "", "", {}, "", "", is_unnamed=False)
    assert not graph.describe("nodes", '{"a": ' + "[" * 100_000)
