"""The one cache policy: made once, by one thread, bounded, and given back."""

import sys
import threading
import time
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest

from profiler_core.session.cache import Cache, approximate_bytes
from tests import builders


def test_an_answer_is_made_once():
    cache, made = Cache(), []
    for _ in range(3):
        assert cache.get("key", lambda: made.append(1) or "answer") == "answer"
    assert made == [1]
    assert "key" in cache


def test_threads_wait_for_the_one_that_makes_it():
    cache, made, answers = Cache(), [], []
    begun, go_on = threading.Event(), threading.Event()

    def make():
        made.append(threading.get_ident())
        begun.set()
        assert go_on.wait(10)
        return "answer"

    threads = [
        threading.Thread(target=lambda: answers.append(cache.get("key", make))) for _ in range(4)
    ]
    threads[0].start()
    assert begun.wait(10)
    for thread in threads[1:]:
        thread.start()
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert answers == ["answer"] * 4
    assert len(made) == 1


def test_what_analyses_derive_of_a_trace_counts_once_it_is_there():
    cache = Cache(most_bytes=1 << 20)
    large, small = builders.a_trace(), builders.a_trace()
    cache.get("large", lambda: large)
    large.derived("table", lambda _trace: pl.DataFrame({"n": np.zeros(1 << 20)}))
    cache.get("small", lambda: small)
    assert "large" not in cache
    assert "small" in cache
    assert cache.n_bytes < 1 << 20


def test_a_trace_with_other_events_has_derived_nothing():
    trace = builders.a_trace()
    trace.derived("table", lambda _trace: pl.DataFrame({"n": [1]}))
    other = replace(trace, source="other")
    assert other.derived("table", lambda _trace: pl.DataFrame({"n": [2]}))["n"].to_list() == [2]


def test_a_failure_is_its_own_thread_s_and_is_not_kept():
    cache = Cache()
    with pytest.raises(ValueError, match="first"):
        cache.get("key", lambda: (_ for _ in ()).throw(ValueError("first")))
    assert cache.get("key", lambda: "second") == "second"


def test_another_thread_tries_again_where_the_first_failed():
    cache, answers = Cache(), []
    begun, go_on = threading.Event(), threading.Event()

    def fail():
        begun.set()
        assert go_on.wait(10)
        raise ValueError("stopped")

    def first():
        with pytest.raises(ValueError, match="stopped"):
            cache.get("key", fail)

    one = threading.Thread(target=first)
    other = threading.Thread(target=lambda: answers.append(cache.get("key", lambda: "answer")))
    one.start()
    assert begun.wait(10)
    other.start()
    go_on.set()
    one.join(10)
    other.join(10)
    assert answers == ["answer"]


def test_an_answer_may_rest_on_another():
    cache = Cache()
    assert cache.get("sum", lambda: cache.get("part", lambda: 2) + 1) == 3
    assert len(cache) == 2


def test_what_was_asked_for_longest_ago_goes_first():
    cache = Cache(most_entries=2)
    for key in ("a", "b"):
        cache.get(key, lambda: 0)
    cache.get("a", lambda: 0)
    cache.get("c", lambda: 0)
    assert [key in cache for key in ("a", "b", "c")] == [True, False, True]


def test_answers_are_bounded_by_their_size():
    cache = Cache(most_bytes=3_000_000)
    for key in range(5):
        cache.get(key, lambda: np.zeros(1_000_000, dtype=np.uint8))
    assert cache.n_bytes <= 3_000_000
    assert [key in cache for key in range(5)] == [False, False, True, True, True]
    cache.get("large", lambda: np.zeros(10_000_000, dtype=np.uint8))
    assert len(cache) == 1  # the newest stays even where it alone is more
    cache.clear()
    assert (len(cache), cache.n_bytes) == (0, 0)


def test_what_nobody_asks_for_is_given_back():
    cache = Cache(kept_s=0.01)
    cache.get("old", lambda: 0)
    time.sleep(0.05)
    cache.get("new", lambda: 0)
    assert ["old" in cache, "new" in cache] == [False, True]


def test_long_collections_count_in_full():
    rows = tuple({"name": f"kernel {n:04}", "time_ns": 10_000 + n} for n in range(10_000))
    each = sum(approximate_bytes(row) for row in rows)
    assert approximate_bytes(rows) == pytest.approx(each, rel=0.2)


@dataclass(frozen=True)
class Row:
    name: str
    parts: tuple[object, ...]


def test_an_answer_weighs_what_it_and_its_members_do():
    rows = [Row("name" * 10, (1, 2.5, None, b"x")), Row("", ())]
    weight = sum(
        map(sys.getsizeof, (rows, *rows, "name" * 10, "", (1, 2, 3, 4), (), 1, 2.5, None, b"x"))
    )
    assert approximate_bytes(rows) == weight
    assert approximate_bytes({"rows": rows}) == weight + sum(
        map(sys.getsizeof, ({"rows": 1}, "rows"))
    )
    assert approximate_bytes(rows, depth=0) == sys.getsizeof(rows)


def test_what_nobody_asked_for_leaves_though_nothing_new_comes(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("profiler_core.session.cache.time.monotonic", lambda: now[0])
    cache = Cache(kept_s=60)
    for key in ("first", "second"):
        cache.get(key, lambda: "answer")
    cache.drop_unused()
    assert len(cache) == 2
    now[0] += 61
    assert cache.get("second", lambda: "anew") == "answer"
    cache.drop_unused()
    assert "first" not in cache
    assert "second" in cache
