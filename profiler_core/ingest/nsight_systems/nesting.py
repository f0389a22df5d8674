"""Ranges that nest on one thread: how deep each lies, and which is the innermost at a moment."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Nest:
    """Ranges of one thread.

    Args:
        starts: ns, sorted; of equal starts the longer range comes first.
        ends: ns, in the same order. Ranges that cross are not refused: their depths are guesses.
    """

    def __init__(self, starts: Ints, ends: Ints) -> None:
        ends = np.maximum(ends, starts + 1)  # one without length still is around its own moment
        self._starts, self._ends = starts, ends
        self._closed = np.sort(ends)
        before = np.searchsorted(self._closed, starts, side="right")
        self.depth: Ints = np.maximum(np.arange(len(starts)) - before, 0)  # 0: outermost
        self._of_depth = {
            int(depth): np.flatnonzero(self.depth == depth) for depth in np.unique(self.depth)
        }

    def innermost(self, moments: Ints) -> Ints:
        """Position of the innermost range around each moment; -1: none. An end is outside."""
        opened = np.searchsorted(self._starts, moments, side="right")
        depth = opened - np.searchsorted(self._closed, moments, side="right") - 1
        spans = np.full(len(moments), -1, dtype=np.int64)
        for level in np.unique(depth[depth >= 0]):
            of_level = self._of_depth.get(int(level))
            if of_level is None:
                continue
            moments_here = np.flatnonzero(depth == level)
            position = np.searchsorted(of_level, opened[moments_here], side="left") - 1
            has_span = position >= 0
            spans[moments_here[has_span]] = of_level[position[has_span]]
        around = np.flatnonzero(spans >= 0)
        spans[around[self._ends[spans[around]] <= moments[around]]] = -1
        return spans
