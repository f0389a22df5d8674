"""The fixture: each check is one method, and fails with what a reader must know to mend it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from profiler_core.errors import FusionscopeError
from profiler_core.testing import breaks, fused, recompiles, timing
from profiler_core.testing.compiled import LeftOutError


@dataclass(frozen=True)
class Usual:
    """What a marker may say once for the checks of a test."""

    backend: str = "inductor"  # of torch.compile
    by: str | float = "+5%"  # how much slower a candidate may be
    seconds: float = 20.0  # that timing may take at most


class Fusionscope:
    """What torch.compile makes of a model in this process.

    Args:
        usual: where a check does not say it itself.
        folder: for recordings; of this test alone.
        test: its name, for the snapshot's.
        file: of the test.
        writes_snapshots: write them anew instead of comparing.
    """

    def __init__(
        self, usual: Usual, *, folder: Path, test: str, file: Path, writes_snapshots: bool
    ) -> None:
        self._usual = usual
        self._folder = folder
        self._test = test
        self._file = file
        self._writes_snapshots = writes_snapshots

    def assert_no_graph_breaks(self, model: Any, *inputs: Any) -> None:
        """Fail where Dynamo cannot take the whole of `model(*inputs)` into one graph.

        The failure names each break with its line, its reason, what to change, and what it costs
        per step where the trace of a short recording tells.

        Args:
            model: a module or a function; compiled ones are taken apart first.
            inputs: its arguments, as one call has them.
        """
        __tracebackhide__ = True
        _end(breaks.no_breaks(model, inputs, self._folder, backend=self._usual.backend))

    def assert_no_recompiles(
        self,
        model: Any,
        *calls: Any,
        dynamic: bool | None = None,
        warm_up: int = 1,
        backend: str | None = None,
    ) -> None:
        """Fail where a later call compiles again.

        The failure names the call, the guard that failed, and how long compiling took.

        Args:
            model: a module or a function.
            calls: one argument each: a tensor; a tuple of all arguments; or a shape, a tuple of
                whole numbers, for which normally distributed numbers are made on the model's device
                and of its type.
            dynamic: as torch.compile takes it.
            warm_up: so many of the first calls may compile.
            backend: of torch.compile; the marker's without it.
        """
        __tracebackhide__ = True
        _end(
            recompiles.no_recompiles(
                model, calls, self._folder, dynamic=dynamic, warm_up=warm_up,
                backend=backend or self._usual.backend,
            )
        )  # fmt: skip

    def assert_not_slower(
        self,
        baseline: Any,
        candidate: Any,
        *inputs: Any,
        by: str | float | None = None,
        seconds: float | None = None,
    ) -> None:
        """Fail where the candidate's calls take longer, as `gate` judges it; skip: cannot judge.

        Both are timed in turns in this process, until the rounds decide or the time is over.

        Args:
            baseline: a function or module.
            candidate: likewise.
            inputs: the arguments of both.
            by: the limit: "+5%", "+100us", or 0.05 for 5 percent.
            seconds: that timing may take at most.
        """
        __tracebackhide__ = True
        outcome = timing.not_slower(
            (baseline, candidate), inputs,
            by=self._usual.by if by is None else by,
            seconds=self._usual.seconds if seconds is None else seconds,
        )  # fmt: skip
        if outcome.outcome == "cannot judge":
            pytest.skip(f"Cannot judge: {outcome.sentence}")
        _end(outcome.failure)

    def assert_stays_fused(self, model: Any, *inputs: Any, name: str = "") -> None:
        """Fail where operators that were one fused group when the snapshot was written are not now.

        The snapshot lies beside the test, in `fused/`; `--fusionscope-update` writes it.

        Args:
            model: a module or a function.
            inputs: its arguments.
            name: of the snapshot, where a test has several.
        """
        __tracebackhide__ = True
        path = fused.snapshot_path(self._file, self._test, name)
        try:
            _end(
                fused.stays_fused(model, inputs, self._folder, path, writes=self._writes_snapshots)
            )
        except LeftOutError as error:
            pytest.skip(f"Cannot judge: {error}")


def _end(failure: str) -> None:
    """Fail the test with these words; nothing for none."""
    __tracebackhide__ = True
    if failure:
        raise AssertionError(failure)


__all__ = ["Fusionscope", "FusionscopeError", "Usual"]
