"""What outlives the process: answers equal to the made ones, found only while they are true."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from profiler_core.analysis.explanation import Explanation
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.summary import Summary
from profiler_core.ingest.open import cache_folder
from profiler_core.model.compilation import CompileLog
from profiler_core.session import kept, pair, run
from profiler_core.session.cache import Cache
from profiler_core.session.comparison import Comparison
from profiler_core.session.reading import InProcess
from profiler_core.session.run import Run
from tests.session.two_classes import write_runs

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "tests" / "fixtures" / "captures"
SAMPLES = ROOT / "sample_traces"


def compared(*paths: Path) -> Comparison:
    """As another process would open them: nothing of them is in memory."""
    cache = Cache()
    return Comparison(
        [Run(Run.open(path).files, reading=InProcess(), cache=cache) for path in paths], cache=cache
    )


def assert_alike(left: object, right: object, where: str = "answer") -> None:
    """Equal, and of the same types all the way down; a whole number may be a fraction's too."""
    assert type(left) is type(right) or {type(left), type(right)} == {int, float}, where
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype, where
        np.testing.assert_array_equal(left, right)
    elif dataclasses.is_dataclass(left):
        for field in dataclasses.fields(left):
            assert_alike(
                getattr(left, field.name), getattr(right, field.name), f"{where}.{field.name}"
            )
    elif isinstance(left, msgspec.Struct):
        for name in left.__struct_fields__:
            assert_alike(getattr(left, name), getattr(right, name), f"{where}.{name}")
    elif isinstance(left, dict):
        assert list(left) == list(right), where
        for key, value in left.items():
            assert_alike(value, right[key], f"{where}[{key!r}]")
    elif isinstance(left, tuple | list):
        assert len(left) == len(right), where
        for number, (one_value, other_value) in enumerate(zip(left, right, strict=True)):
            assert_alike(one_value, other_value, f"{where}[{number}]")
    else:
        assert left == right or left != left, where


@pytest.mark.parametrize(
    "paths",
    [
        pytest.param(None, id="two classes of steps"),
        pytest.param((SAMPLES / "customcnn" / "eager", SAMPLES / "customcnn" / "reduce-overhead")),
        pytest.param((SAMPLES / "simplecnn-training" / "eager",
                      SAMPLES / "simplecnn-training" / "default")),
        pytest.param((SAMPLES / "breaky" / "eager", SAMPLES / "breaky" / "default")),
        pytest.param((SAMPLES / "dynshape" / "eager", SAMPLES / "dynshape" / "default")),
        pytest.param((SAMPLES / "ddp" / "eager", SAMPLES / "ddp" / "default")),
        pytest.param((CAPTURES / "smallcnn_cpu.eager", CAPTURES / "smallcnn_cpu.default")),
    ],
)  # fmt: skip
def test_an_answer_comes_back_as_it_was_made(paths, tmp_path):
    comparison = compared(*(paths or write_runs(tmp_path)))
    (only,) = comparison.pairs
    answers = [
        (only._explanation(), Explanation),
        *((made._summary(), Summary) for made in comparison.runs),
        *((made._belonging_compile_log(), CompileLog) for made in comparison.runs),
    ]
    if only.not_explained is None:
        answers.append((only._ledger(), FusionLedger))
    for answer, kind in answers:
        if answer is not None:
            assert_alike(answer, kept.unpacked(kept.packed(answer), kind))


@pytest.fixture
def paths(tmp_path, monkeypatch) -> tuple[Path, Path]:
    """A pair in a home of its own, whose answers were asked for once."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    for name in ("eager", "default"):
        shutil.copytree(CAPTURES / f"smallcnn_cpu.{name}", tmp_path / name)
    paths = (tmp_path / "eager", tmp_path / "default")
    comparison = compared(*paths)
    assert comparison.pairs[0].explanation.ledger is not None
    assert comparison.pairs[0].ledger.groups
    return paths


@pytest.fixture
def computed(monkeypatch) -> list[str]:
    """What is computed from now on."""
    names: list[str] = []
    for module, name in ((run, "summarise"), (pair, "explain"), (pair, "pair_ledger")):
        real = getattr(module, name)

        def told(*arguments, _name=name, _real=real, **options):
            names.append(_name)
            return _real(*arguments, **options)

        monkeypatch.setattr(module, name, told)
    return names


def all_answers(paths) -> tuple[object, ...]:
    comparison = compared(*paths)
    (only,) = comparison.pairs
    return (
        only.explanation.findings, only.ledger.groups, *(side.summary for side in comparison.sides)
    )  # fmt: skip


def test_another_process_computes_nothing_again(paths, computed, monkeypatch):
    answers = all_answers(paths)
    assert computed == []
    monkeypatch.setattr(kept, "load", lambda *_: None)
    assert_alike(answers, all_answers(paths))
    assert set(computed) == {"summarise", "explain", "pair_ledger"}


def test_what_was_derived_of_the_traces_is_given_back(paths, monkeypatch):
    monkeypatch.setattr(kept, "load", lambda *_: None)
    comparison = compared(*paths)
    assert comparison.sides[0].summary is not None
    traces = [made.trace for made in comparison.runs]
    assert all(trace.derived_bytes for trace in traces)
    assert comparison.pairs[0].explanation.ledger is not None
    assert not any(trace.derived_bytes for trace in traces)


def test_a_changed_file_asks_anew(paths, computed):
    file = paths[1] / "run.json"
    record = json.loads(file.read_bytes())
    record["created_at"] = "2020-02-02T02:02:02Z"
    file.write_text(json.dumps(record))
    all_answers(paths)
    assert computed.count("summarise") == 1  # of the one that changed
    assert {"explain", "pair_ledger"} <= set(computed)


def test_other_rules_ask_anew(paths, computed, monkeypatch):
    monkeypatch.setattr(kept, "code_version", lambda: b"of another release")
    all_answers(paths)
    assert set(computed) == {"summarise", "explain", "pair_ledger"}


@pytest.mark.parametrize("damage", [b"", b"\0" * 40, None])
def test_a_damaged_file_asks_anew(paths, computed, damage):
    before = all_answers(paths)
    for folder in map(kept_beside, paths):
        for file in folder.iterdir():
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 1
            file.write_bytes(bytes(data) if damage is None else damage)
    assert_alike(before, all_answers(paths))
    assert set(computed) == {"summarise", "explain", "pair_ledger"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_nothing_is_kept_that_lacks_an_unreadable_file(paths, computed):
    (paths[1] / "torch_logs.txt").chmod(0)
    (paths[1] / "run.json").touch()
    all_answers(paths)
    (paths[1] / "torch_logs.txt").chmod(0o600)
    computed.clear()
    all_answers(paths)
    assert "explain" in computed


def test_answers_go_with_the_columns_and_do_not_pile_up(paths):
    folder = kept_beside(paths[1])
    assert folder.is_dir()
    for number in range(2 * kept._MOST_FILES):
        kept.lasting(
            Cache(), (paths[1] / "trace.json.gz", b"state %d" % number, "question"), list[int],
            lambda: [1], lambda: True,
        )  # fmt: skip
    assert len(list(folder.iterdir())) == kept._MOST_FILES
    shutil.rmtree(folder.parent)
    kept.lasting(
        Cache(), (paths[1] / "trace.json.gz", b"state", "question"), list[int],
        lambda: [1], lambda: True,
    )  # fmt: skip
    assert not folder.parent.exists()


def kept_beside(path: Path) -> Path:
    """Where the answers of a run lie."""
    return cache_folder(path / "trace.json.gz") / "answers"
