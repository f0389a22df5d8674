"""Runs whose files were never written: what a test gives is what they have."""

import os

from profiler_core.analysis.summary import Summary
from profiler_core.model.compilation import CompileLog
from profiler_core.model.run import RunFiles
from profiler_core.model.trace import Trace
from profiler_core.session.cache import Cache
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run


class MadeUpRun(Run):
    """A run of a made-up trace and log."""

    def __init__(
        self, files: RunFiles, trace: Trace | None = None, log: CompileLog | None = None
    ) -> None:
        super().__init__(files, cache=Cache())
        self._given = (trace, log)
        self._version = os.urandom(16)

    @property
    def trace(self) -> Trace | None:
        return self._given[0]

    @property
    def summary(self) -> Summary | None:
        return self._summary()  # no file tells whether there is a trace

    @property
    def compile_log(self) -> CompileLog | None:
        return self._given[1]


def made_up_comparison(*runs: Run) -> Comparison:
    """Of a baseline and its candidates, with a cache of its own."""
    return Comparison(runs, cache=Cache())
