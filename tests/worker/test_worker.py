"""One result, or one failure, whatever becomes of the process; and no zombie."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from profiler_core.errors import BadInput, ServerFault, WorkEnded
from profiler_core.worker import process
from profiler_core.worker.environment import child_environment
from profiler_core.worker.process import DidNotRun, module_words
from profiler_core.worker.worker import Worker, ask

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 240.0


@pytest.fixture(autouse=True)
def talker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        process,
        "module_words",
        lambda _module, *words: [sys.executable, "-m", "tests.worker.talker", *words],
    )


def result_of(deed: str, **more: Any) -> Any:
    return ask(
        "profiler_core.talker",
        deed,
        kind=dict[str, Any],
        ended="It ended with {status}.",
        remedy="Look.",
        **more,
    )


def test_only_modules_of_ours_can_be_started() -> None:
    for module in ("os", "profiler_core_evil", "tests.worker.talker", "-c"):
        with pytest.raises(ValueError, match="no module of"):
            module_words(module)


def test_what_libraries_print_comes_not_between() -> None:
    assert result_of("prints") == {"n": 1}


def test_a_failure_is_a_record_with_both_of_its_sentences() -> None:
    with pytest.raises(BadInput) as error:
        result_of("fails")
    assert not isinstance(error.value, ServerFault)
    assert error.value.problem == "x.json is no trace.\nIt has two lines."
    assert error.value.remedy == "Record it\nagain."


@pytest.mark.parametrize(("deed", "status"), [("breaks", "1"), ("dies", "-9")])
def test_an_end_without_a_word_has_the_askers_sentence(deed: str, status: str) -> None:
    with pytest.raises(WorkEnded) as error:
        result_of(deed)
    assert error.value.problem == f"It ended with {status}."


def test_what_the_machine_lacks_is_no_fault_of_what_was_asked() -> None:
    with pytest.raises(ServerFault, match="No space left"):
        result_of("lacks room")


def test_large_questions_and_answers_arrive_whole() -> None:
    answer = result_of("large", request=b"x" * 3_000_000)
    assert answer["n"] == 3_000_000 and len(answer["text"]) == 5_000_000


def test_progress_can_be_followed_and_the_work_cancelled() -> None:
    worker = Worker("profiler_core.talker", "waits")
    for progress in worker.progress():
        if progress.done:
            assert (progress.total, progress.stage) == (600, "waiting")
            assert 0 < progress.share < 1
            break
    worker.cancel()
    with pytest.raises(BadInput, match="The work was stopped"):
        worker.result(dict[str, Any], ended="", remedy="")


def test_what_takes_too_long_is_ended() -> None:
    with pytest.raises(DidNotRun) as error:
        result_of("waits", within_s=1.0)
    assert error.value.took_too_long


def test_nobody_asks_again_and_no_zombie_stays() -> None:
    worker = Worker("profiler_core.talker", "prints")
    state = Path(f"/proc/{worker._process.pid}/stat")
    if not Path("/proc").is_dir():
        pytest.skip("no /proc on this system")
    deadline = time.monotonic() + WITHIN_S
    while state.exists():  # a zombie keeps its entry
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_child_has_the_home_of_who_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # children work in another folder
    given = child_environment(inherited={"FUSIONSCOPE_HOME": "home"})
    assert given == {"FUSIONSCOPE_HOME": str(tmp_path / "home")}
    assert child_environment(inherited={"FUSIONSCOPE_HOME": ""}) == {"FUSIONSCOPE_HOME": ""}
