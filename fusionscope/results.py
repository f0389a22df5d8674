"""What is known of runs: the engine's frozen records, with pictures, tables and files.

Times are ns per step, sizes bytes, each unless its name says otherwise; None: not available.
"""

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.session import comparison as session
from profiler_core.session import pair as session_pair
from profiler_core.session import run as session_run

if TYPE_CHECKING:
    import os

    import polars as pl

    from profiler_core.analysis.compare import CandidateComparison, ComparedNumbers
    from profiler_core.analysis.compilation.report import CompilationReport
    from profiler_core.analysis.findings import Finding
    from profiler_core.analysis.ledger.result import FusionLedger
    from profiler_core.analysis.memory.comparison import MemoryComparison
    from profiler_core.analysis.memory.report import MemoryReport
    from profiler_core.analysis.step_time import StepTime
    from profiler_core.analysis.summary import Summary
    from profiler_core.analysis.telemetry.run import RunTelemetry
    from profiler_core.analysis.verdict import Verdict
    from profiler_core.analysis.waterfall import Waterfall
    from profiler_core.model.run import RunRecord
    from profiler_core.report.named_figures import Figure


class _Shown:
    """What runs and comparisons share: a comparison of the engine, of one run or more."""

    _comparison: session.Comparison
    _pair: session_pair.Pair | None

    def figure(self, name: str, *, dark: bool = False) -> "Figure":
        """A Plotly figure.

        Args:
            name: "waterfall", "fusion_map", "steps", "kernels", "modules", "memory",
                "compile_time" or "telemetry"; of a run alone all but the first two.
            dark: colours for a dark ground.

        Raises:
            FusionscopeError: there is no figure of that name, or the runs lack what it needs.
        """
        from profiler_core.report.named_figures import named_figure

        return named_figure(self._comparison, name, pair=self._pair, dark=dark)

    def table(self, name: str) -> "pl.DataFrame":
        """A table of polars, one row a fact; `.to_pandas()` makes one of pandas of it.

        Args:
            name: "measures", "kernels", "categories", "waterfall", "fusion_groups", "findings",
                "graph_breaks", "recompiles", "rounds", "environment", "ranks" or
                "groups_over_ranks".

        Returns:
            Times in ns per step and sizes in bytes; no row where the runs lack what it needs.

        Raises:
            FusionscopeError: there is no table of that name.
        """
        from profiler_core.report.contents import gather
        from profiler_core.report.tables import table

        return table(gather(self._comparison), name)

    def report(self, path: "str | os.PathLike[str]", *, redact: bool = False) -> Path:
        """Write all of it as a document.

        Args:
            path: its ending says the format: .html, .md or .pdf.
            redact: leave out folders, host, user and source excerpts.

        Returns:
            The path.

        Raises:
            FusionscopeError: another ending, a file that cannot be written, or a PDF where there
                is no browser.
        """
        from profiler_core.report.contents import gather
        from profiler_core.report.redaction import redacted
        from profiler_core.report.write import check_format, write_report

        file = Path(path)
        check_format(file)
        contents = gather(self._comparison)
        write_report(redacted(contents) if redact else contents, file)
        return file

    def to_dict(self) -> dict[str, Any]:
        """What `--json` prints, as plain Python: docs/json.md explains the keys."""
        raise NotImplementedError

    def to_json(self) -> str:
        """What `--json` prints, character by character."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)

    def _repr_html_(self) -> str:
        from profiler_core.report.card import card

        return card(self._comparison, self._pair)


class Run(_Shown):
    """One run or one trace. Nothing is read before it is asked for; answers do not change.

    Attributes that are None are not available; `problems` says which files cannot be read.
    """

    def __init__(self, run: session_run.Run, label: str | None = None) -> None:
        self._run = run
        self._comparison = session.Comparison([run], None if label is None else [label])
        self._pair = None

    @property
    def path(self) -> Path:
        """As it was opened."""
        return self._run.path

    @property
    def label(self) -> str:
        """What it is called: its variant."""
        return self._comparison.labels[0]

    @property
    def record(self) -> "RunRecord":
        """What run.json says of it."""
        return self._run.record

    @property
    def summary(self) -> "Summary":
        """Its trace in numbers, ns over its window; `summary.n_steps` steps are in it.

        Raises:
            FusionscopeError: it has no trace, or one that cannot be read.
        """
        return self._run.required_summary()

    @property
    def findings(self) -> "tuple[Finding, ...] | None":
        """What stands out in it alone, most important first; None: it has no trace."""
        return self._run.alone.findings

    @property
    def compilation(self) -> "CompilationReport | None":
        """What the compiler did: breaks, recompiles, compile time in ns; None without logs."""
        return self._run.compilation

    @property
    def memory(self) -> "MemoryReport":
        """Where its memory went, bytes."""
        return self._run.memory

    @property
    def telemetry(self) -> "RunTelemetry | None":
        """Clocks, power and energy of its GPU, and its process; None: nothing was sampled."""
        return self._run.telemetry

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for each trace and log that cannot be read."""
        return self._comparison.problems

    def to_dict(self) -> dict[str, Any]:
        """What `fusionscope summary RUN --json` prints: docs/json.md explains the keys."""
        from profiler_core.answers.encoding import document
        from profiler_core.answers.summary import summary_answer

        return document(summary_answer(self._run))

    def __repr__(self) -> str:
        return f"<Run {self.label}: {self.path}>"


class Pair(_Shown):
    """A baseline and one candidate."""

    def __init__(self, pair: session_pair.Pair, comparison: session.Comparison) -> None:
        self._pair: session_pair.Pair = pair
        self._comparison = comparison

    @property
    def label(self) -> str:
        """What the candidate is called."""
        return self._pair.labels[1]

    @cached_property
    def baseline(self) -> Run:
        """The run that the candidate is compared with."""
        return Run(self._pair.baseline, self._pair.labels[0])

    @cached_property
    def candidate(self) -> Run:
        """The run in question."""
        return Run(self._pair.candidate, self._pair.labels[1])

    @property
    def verdict(self) -> "Verdict":
        """Is the candidate worth it: `kind` is one of docs/json.md's, `claim` says why."""
        return self._pair.verdict

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        from profiler_core.analysis.wording.verdict import statement

        return statement(self._pair.verdict).sentence

    @property
    def step_time(self) -> "StepTime":
        """Both step times in ns, their ratio (above 1: the candidate is faster), its interval."""
        return self._pair.judged.step_time

    @property
    def numbers(self) -> "CandidateComparison":
        """Every number of both beside each other, as pairs (baseline, candidate) per step."""
        return self._pair.judged

    @property
    def waterfall(self) -> "Waterfall":
        """From step to step in rows of ns that add up exactly.

        Raises:
            FusionscopeError: one of the two has no trace.
        """
        return self._pair.waterfall

    @property
    def ledger(self) -> "FusionLedger":
        """What each operator of the baseline became: every kernel of both in exactly one group.

        Raises:
            FusionscopeError: the two cannot be matched, and why.
        """
        return self._pair.ledger

    @property
    def findings(self) -> "tuple[Finding, ...] | None":
        """What stands out in the candidate, most important first; None: it has no trace."""
        return self._pair.findings

    @property
    def compilation(self) -> "CompilationReport | None":
        """What the candidate's compiler did, beside the other runs; None without logs."""
        return self._pair.compilation

    @property
    def memory(self) -> "MemoryComparison":
        """The memory of both, bytes."""
        return self._pair.memory

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers leave out and the files did not allow, a sentence each."""
        return self._pair.notes

    def to_dict(self) -> dict[str, Any]:
        """The candidate's entry of `fusionscope compare … --json`."""
        from profiler_core.answers.compare import candidate_answer
        from profiler_core.answers.encoding import document

        side = self._comparison.numbers.sides[self._pair.number]
        return document(candidate_answer(self._pair, side))

    def __repr__(self) -> str:
        return f"<Pair: {_told(lambda: self.headline, self.label)}>"


class Comparison(_Shown):
    """A baseline with its candidates. Pictures are of the leading one; index for another.

    comparison["reduce-overhead"].figure("waterfall")
    """

    def __init__(self, comparison: session.Comparison) -> None:
        self._comparison = comparison

    @property
    def _pair(self) -> session_pair.Pair | None:  # type: ignore[override]
        return self._comparison.leading

    @property
    def labels(self) -> tuple[str, ...]:
        """What the runs are called, the baseline's first."""
        return self._comparison.labels

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The baseline, then the candidates."""
        return tuple(map(Run, self._comparison.runs, self.labels))

    @property
    def baseline(self) -> Run:
        """The run that the candidates are compared with."""
        return self.runs[0]

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The baseline with each candidate, in the order given."""
        return tuple(Pair(pair, self._comparison) for pair in self._comparison.pairs)

    @property
    def leading(self) -> Pair | None:
        """The candidate that the headline is about; None: none can be compared."""
        pair = self._comparison.leading
        return None if pair is None else self.pairs[pair.number]

    @property
    def headline(self) -> str:
        """The verdict on the leading candidate in one sentence."""
        from profiler_core.analysis.wording.sentence import plain
        from profiler_core.analysis.wording.verdict import headline

        return plain(headline(self.numbers).title)

    @property
    def numbers(self) -> "ComparedNumbers":
        """Every number of every run, per step."""
        return self._comparison.judged

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for each trace and log that cannot be read."""
        return self._comparison.problems

    def to_dict(self) -> dict[str, Any]:
        """What `fusionscope compare … --json` prints: docs/json.md explains the keys."""
        from profiler_core.answers.compare import comparison_answer
        from profiler_core.answers.encoding import document

        return document(comparison_answer(self._comparison))

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def __getitem__(self, candidate: int | str) -> Pair:
        """One candidate, by its label or its place from 0."""
        if isinstance(candidate, int):
            return self.pairs[candidate]
        for pair in self.pairs:
            if pair.label == candidate:
                return pair
        raise BadInput(
            f"There is no candidate “{candidate}”.",
            remedy=f"Choose one of {', '.join(pair.label for pair in self.pairs)}.",
        )

    def __repr__(self) -> str:
        return f"<Comparison: {_told(lambda: self.headline, ', '.join(self.labels))}>"


def _told(make: Any, instead: str) -> str:
    """A repr never fails: what cannot be said is left to whoever asks for it by name."""
    try:
        return str(make())
    except FusionscopeError:
        return instead
