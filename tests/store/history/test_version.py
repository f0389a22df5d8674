"""What is remembered of the history retires with any change to it."""

from profiler_core.store import history
from tests.store.history.samples import outdated, redated_copy


def test_every_change_is_a_new_version(home):
    seen = [history.version()]

    def is_new():
        seen.append(history.version())
        return len(set(seen)) == len(seen)

    history.record(redated_copy(home, "c1", created_at="2024-01-01T00:00:00Z"))
    assert is_new()
    history.record(redated_copy(home, "c2", created_at="2020-01-01T00:00:00Z"))
    assert is_new()
    history.tag("c1.default", "a")
    assert is_new()
    history.untag("c1.default", "a")
    assert is_new()
    history.delete_files(outdated(history.Rules(keep_captures=1)))
    assert is_new()
    history.delete_run("c2.default")
    assert is_new()
    assert history.version() == seen[-1]
