"""A short storm of kills; `python -m tests.operate.kill_storm --times 200` is a long one."""

from pathlib import Path

from tests.operate.kill_storm import storm


def test_kills_at_random_lose_nothing_and_leave_nothing_half(home: Path, tmp_path: Path) -> None:
    outcome = storm(tmp_path, times=3, seed=5)
    assert outcome.faults == []
    assert outcome.kills.total() == 3
    assert outcome.n_listed + outcome.n_deleted + outcome.n_given_up > 0
