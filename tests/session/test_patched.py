"""What a patch brings: the verdict of two versions timed in turns, and what it moved."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from profiler_core.answers.encoding import document
from profiler_core.answers.patch import patch_answer
from profiler_core.errors import NotARun
from profiler_core.session.patched import judged, moved_groups

BEFORE_NS = 1_000_000


def run_at(folder, version, step_ns, *, is_against, **more):
    directory = folder / f"{version}-default"
    directory.mkdir(parents=True)
    jitter = 1 + 0.002 * np.random.default_rng(is_against).standard_normal(12)
    rounds = [
        {"index": i, "order": 1 - is_against, "n_steps": 10, "wall_ns": int(10 * step_ns * part)}
        for i, part in enumerate(jitter)
    ]
    record = {
        "schema_version": 1,
        "run_id": version,
        "variant": "default",
        "status": "finished",
        "role": "baseline" if is_against else "candidate",
        "workload": "model.py:build",
        "spec": {"compile": True, "version": version, "is_against": is_against},
        "environment": {"device": "cpu"},
        "measurement": {"rounds": rounds, "interleaved": True},
        "numerics": {"verdict": "right"},
        **more,
    }
    (directory / "run.json").write_text(json.dumps(record))


def pair(folder, after_ns, **more):
    run_at(folder, "as it is", BEFORE_NS, is_against=True)
    run_at(folder, "change.diff", after_ns, is_against=False, **more)
    return judged(folder)


WRONG = {"numerics": {"verdict": "wrong", "reason": "output is off by 3"}}
FAILED = {"status": "failed", "error": "It fell.", "measurement": {}, "numerics": None}


@pytest.mark.parametrize(
    ("after_ns", "more", "outcome", "words", "exit_status"),
    [
        (500_000, {}, "faster", "change.diff, default makes it 2.00× faster", 0),
        (2_000_000, {}, "slower", "makes it 2.00× slower", 1),
        (1_000_100, {}, "cannot be told", "no difference that can be told", 3),
        (500_000, WRONG, "wrong answers", "wrong answers: output is off by 3", 1),
        (500_000, FAILED, "does not run", "it does not run: It fell.", 3),
        (500_000, {**FAILED, "error_kind": "compile"}, "does not compile", "It fell.", 4),
        (500_000, {"numerics": None}, "faster", "Its answers were not checked.", 0),
    ],
)  # fmt: skip
def test_the_verdict(tmp_path, after_ns, more, outcome, words, exit_status):
    result = pair(tmp_path, after_ns, **more)
    assert result.outcome == outcome
    assert words in result.sentence
    assert result.gate.exit_status == exit_status


def test_one_answer_has_the_times_the_interval_the_answers_and_the_gate(tmp_path):
    answer = document(patch_answer(pair(tmp_path, 500_000), tmp_path))
    assert answer["outcome"] == "faster"
    assert answer["realised_ns"] == pytest.approx(500_000, rel=0.01)
    assert answer["speedup"]["low"] < 2.0 < answer["speedup"]["high"]
    assert (answer["numerics"], answer["gate"]["outcome"]) == ("right", "pass")
    assert [check["quantity"] for check in answer["gate"]["checks"]] == ["step_time"]
    assert (answer["moved"], answer["solved"], answer["new"]) == ([], [], [])


def test_a_folder_without_two_versions_is_none(tmp_path):
    run_at(tmp_path, "as it is", BEFORE_NS, is_against=True)
    with pytest.raises(NotARun):
        judged(tmp_path)


def made_up(title, delta_ns):
    return SimpleNamespace(title=title, delta_ns=delta_ns)


def test_groups_of_one_name_are_one_change():
    """Replayed copies whose match was not found stood there as −16.3 and +16.3 µs."""
    groups = [
        made_up("_foreach_copy", -16_300.0), made_up("_foreach_copy", 16_300.0),
        made_up("batch_norm", -25_200.0), made_up("batch_norm", -24_700.0),
        made_up("addmm", -11_700.0),
    ]  # fmt: skip
    pair = SimpleNamespace(ledger=SimpleNamespace(groups=groups))
    moved = moved_groups(pair, 785_000.0)
    assert [(entry.title, entry.delta_ns) for entry in moved] == [
        ("batch_norm", -49_900.0), ("addmm", -11_700.0),
    ]  # fmt: skip
    assert moved_groups(pair, None) == ()
