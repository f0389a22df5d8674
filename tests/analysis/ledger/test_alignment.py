"""Alignment in order: best total worth, equal to a plain table filled by hand."""

import random
from itertools import pairwise

import numpy as np

from profiler_core.analysis.ledger import alignment
from profiler_core.analysis.ledger.alignment import align, align_codes


def same(a, b):
    return int(a == b)


def test_a_gap_on_either_side():
    assert align("abcd", "axcd", same) == [(0, 0), (2, 2), (3, 3)]
    assert align("abc", "c", same) == [(2, 0)]
    assert align("", "abc", same) == []
    assert align("abc", "xyz", same) == []


def test_the_dearer_match_wins():
    worth = {("a", "a"): 1, ("b", "b"): 5}
    pairs = align("ab", "ba", lambda x, y: worth.get((x, y), 0))
    assert pairs == [(1, 0)]


def test_is_as_good_as_the_textbook():
    generator = random.Random(1)
    for _ in range(60):
        a = [generator.randrange(4) for _ in range(generator.randrange(9))]
        b = [generator.randrange(4) for _ in range(generator.randrange(9))]
        table = [[generator.choice((0, 0, 1, 3)) for _ in range(4)] for _ in range(4)]
        best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
        for i, x in enumerate(a, 1):
            for j, y in enumerate(b, 1):
                best[i][j] = max(best[i - 1][j], best[i][j - 1], best[i - 1][j - 1] + table[x][y])
        pairs = align(a, b, lambda x, y, table=table: table[x][y])
        assert sum(table[a[i]][b[j]] for i, j in pairs) == best[-1][-1]
        assert all(p[0] < q[0] and p[1] < q[1] for p, q in pairwise(pairs))


def test_halves_give_the_same_worth(monkeypatch):
    """Long sequences are cut in two; the total stays the best one."""
    generator = np.random.default_rng(2)
    a, b = (generator.integers(0, 6, 200).astype(np.int32) for _ in range(2))
    table = np.eye(6, dtype=np.int32) * 3
    whole = align_codes(a, b, table)
    monkeypatch.setattr(alignment, "_MOST_CELLS", 500)
    assert len(align_codes(a, b, table)) == len(whole)
