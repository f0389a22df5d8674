"""A baseline with its candidates: what is shared over all runs, and the pairs.

comparison = Comparison.open([Path("runs/today/eager"), Path("runs/today/default")])
comparison.pairs[0].verdict, comparison.leading, comparison.kernels
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from profiler_core.analysis.compare import ComparedNumbers, compare
from profiler_core.analysis.compilation.by_script import of_record
from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.analysis.compilation.skipped_frames import Other, others_of
from profiler_core.analysis.kernel_sides import KernelRow, copy_sides, kernel_sides
from profiler_core.analysis.run_labels import Labelled, run_labels
from profiler_core.analysis.shared_categories import sides_of
from profiler_core.analysis.side import Side
from profiler_core.analysis.span import PER_STEP, Span, common_span
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.verdict import leading
from profiler_core.analysis.wording.script_compilation import name_with
from profiler_core.session.cache import SHARED, Cache
from profiler_core.session.captured_beside import captured_beside
from profiler_core.session.kept import is_kept, lasting
from profiler_core.session.pair import Pair
from profiler_core.session.reading import Reading
from profiler_core.session.run import Run
from profiler_core.session.same_rank import rank_of_all

T = TypeVar("T")
Made = TypeVar("Made")


class Comparison:
    """Runs beside each other, the baseline first; a baseline alone is one too.

    Args:
        runs: at least the baseline.
        labels: a distinct name for each; made of their variants by default.
        cache: who keeps what is computed of them together.
    """

    def __init__(
        self, runs: Sequence[Run], labels: Sequence[str] | None = None, *, cache: Cache = SHARED
    ) -> None:
        self._runs = tuple(runs)
        self._labels = tuple(labels) if labels is not None else self._own_labels()
        self._cache = cache

    def _own_labels(self) -> tuple[str, ...]:
        paths = [run.path.resolve() for run in self._runs]
        records = [run.record for run in self._runs]
        return run_labels([Labelled(*run, str(run[1])) for run in zip(records, paths, strict=True)])

    @classmethod
    def open(cls, paths: Sequence[Path], *, reading: Reading | None = None) -> "Comparison":
        """The runs at these paths, the baseline's first; raises as `Run.open`."""
        return cls([Run.open(path, reading=reading) for path in paths])

    @property
    def opened(self) -> tuple[Run, ...]:
        """The baseline, then the candidates, whatever rank of a job each of them shows."""
        return self._runs

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The baseline, then the candidates, all of one rank where ranks run other programs."""
        if sum(run.rank_files is not None for run in self._runs) < 2:
            return self._runs
        rank = self._cache.get(("rank of all", self.version), lambda: rank_of_all(self._runs))
        return self._runs if rank is None else tuple(run.with_rank(rank) for run in self._runs)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What they are called: a run that is called eager and is not, by that too.

        What is in run.json stands in the labels already; else a trace or a log may have to be read.
        """
        return tuple(
            label if of_record(run.record) else name_with(label, run.compiled_by_script)
            for label, run in zip(self._labels, self._runs, strict=True)
        )

    @property
    def baseline(self) -> Run:
        """The run that the candidates are compared with."""
        return self.runs[0]

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The baseline with each candidate."""
        return tuple(Pair(self, number) for number in range(len(self._runs) - 1))

    @cached_property
    def beside(self) -> tuple[Run, ...]:
        """The other runs of their captures, which tell what their graphs replay."""
        return captured_beside(self._runs)

    @cached_property
    def version(self) -> bytes:
        """A key that changes whenever one of the runs changes, or one of those beside them."""
        runs = (*self._runs, *self.beside)
        parts = [repr(self._labels).encode(), *(run.version for run in runs)]
        return blake2b(b"\0".join(parts), digest_size=16).digest()

    @cached_property
    def numbers(self) -> ComparedNumbers:
        """Every number of every run, side by side; each side as its own trace says."""
        sides = [
            replace(run.side, label=label)
            for run, label in zip(self.runs, self.labels, strict=True)
        ]
        return self.answer(
            "numbers", lambda: compare(sides[0], sides[1:], self._captured_with_replays(sides))
        )

    @cached_property
    def judged(self) -> ComparedNumbers:
        """The same, which know too which candidates look like another program than the baseline.

        It takes the ledgers of pairs that do not name one workload.
        """
        numbers = self.numbers
        unrelated = tuple(pair.unrelated for pair in self.pairs)
        if not any(unrelated):
            return numbers
        sides = (numbers.baseline, *numbers.sides)
        return self.answer(
            "judged",
            lambda: compare(sides[0], sides[1:], self._captured_with_replays(sides), unrelated),
        )

    def _captured_with_replays(self, sides: Sequence[Side]) -> Iterator[Summary]:
        """Of each capture that a compared run with graphs is of, the runs; else none is read."""
        captures = {
            run.record.capture_id
            for run, side in zip(self.runs, sides, strict=True)
            if side.summary is not None and side.summary.n_graph_launches
        }
        for run in (*self.runs, *self.beside):
            if run.record.capture_id and run.record.capture_id in captures:
                summary = run.summary
                if summary is not None:
                    yield summary

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        """The runs in numbers, replayed kernels in the kinds that the other runs give them."""
        numbers = self.numbers
        return self.answer("sides", lambda: sides_of(numbers))

    @cached_property
    def leading(self) -> Pair | None:
        """The candidate that a headline is about; None: none can be compared.

        Only among several it matters which of them look like another program: it takes ledgers.
        """
        numbers = self.judged if len(self.pairs) > 1 else self.numbers
        lead = leading(numbers)
        pairs = zip(self.pairs, numbers.candidates, strict=True)
        return next((pair for pair, candidate in pairs if candidate is lead), None)

    @cached_property
    def shown_first(self) -> int:
        """Which candidate every page shows until another one is picked, from 0.

        The leading one; where its difference cannot be explained, the first whose can.
        """
        if len(self.pairs) < 2:
            return 0
        explained = [pair for pair in self.pairs if not (pair.not_explained or pair.unrelated)]
        if self.leading is not None and (self.leading in explained or not explained):
            return self.leading.number
        return explained[0].number if explained else 0

    def asked_or_first(self, of: int | None) -> int:
        """Place of the candidate that is asked for; that which pages show first where none is.

        Args:
            of: its place; None, and what is no place of a candidate: none is asked for.

        Returns:
            0 without any candidate.
        """
        if not self.pairs:
            return 0
        return of if of and of <= len(self.pairs) else self.shown_first + 1

    def in_run(self, run: int) -> str:
        """As " in default" of a candidate where there are several; "": it goes without saying."""
        return f" in {self.labels[run]}" if run and len(self.pairs) > 1 else ""

    @property
    def traced(self) -> tuple[int, ...]:
        """Indices of the runs that have a readable trace."""
        return tuple(index for index, side in enumerate(self.sides) if side.summary is not None)

    def on_one_axis(self, runs: Sequence[int]) -> tuple[int, ...]:
        """Of some runs of `traced`, those whose kernels can stand beside each other.

        Those with kernels of a GPU where any has some: a host's operators are no kernels.
        """
        kinds = {run: side.summary.device_kind for run in runs if (side := self.sides[run]).summary}
        on_gpu = tuple(run for run in runs if kinds.get(run) == "gpu")
        return on_gpu or tuple(runs)

    @property
    def kernels(self) -> tuple[KernelRow, ...]:
        """The kernels of the runs in `traced`, by name."""
        summaries = [side.summary for side in self.sides if side.summary is not None]
        return self.answer("kernels", lambda: kernel_sides(summaries))

    @property
    def kernels_in_all_steps(self) -> tuple[KernelRow, ...]:
        """The same, summed over all that each trace holds: what can be told of a cut one."""
        summaries = [side.summary for side in self.sides if side.summary is not None]
        return self.answer(
            "kernels in all steps", lambda: kernel_sides(summaries, in_all_steps=True)
        )

    @property
    def copies(self) -> tuple[KernelRow, ...]:
        """The copies and memsets of the runs in `traced`, by name; they are no kernels."""
        summaries = [side.summary for side in self.sides if side.summary is not None]
        return self.answer("copies", lambda: copy_sides(summaries))

    @property
    def span(self) -> Span:
        """What the numbers of all traces beside each other are of, as their own heads say.

        A cut trace has none, nor has one that alone marks no steps: the others' stay per step.
        """
        return self.numbers.span

    def kernels_told(self, runs: Sequence[int]) -> tuple[tuple[KernelRow, ...], Span]:
        """The kernels of some runs, and what their times are of, as `span` of these alone.

        Args:
            runs: of `traced`, in the order of the sides of a row.
        """
        span = self._span_of(runs)
        rows = self.kernels if span == PER_STEP else self.kernels_in_all_steps
        return self._of_runs(rows, runs), span

    def copies_told(self, runs: Sequence[int]) -> tuple[KernelRow, ...]:
        """Their copies and memsets, of which times are of the same as those of `kernels_told`."""
        if self._span_of(runs) == PER_STEP:
            return self._of_runs(self.copies, runs)
        summaries = [side.summary for side in self.sides if side.summary is not None]
        return self._of_runs(copy_sides(summaries, in_all_steps=True), runs)

    def _span_of(self, runs: Sequence[int]) -> Span:
        of_numbers = (self.numbers.baseline, *self.numbers.sides)
        return common_span(of_numbers[run].span for run in runs)

    def _of_runs(self, rows: Sequence[KernelRow], runs: Sequence[int]) -> tuple[KernelRow, ...]:
        places = [self.traced.index(run) for run in runs]
        return tuple(
            replace(row, sides=tuple(row.sides[place] for place in places))
            for row in rows
            if any(row.sides[place] is not None for place in places)
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """A sentence for each trace and log that cannot be read: all numbers stand without it.

        What else cannot be read is a note of the explanation that rests on it.
        """
        return tuple(
            f"{label}: {problem.problem}"
            for label, run in zip(self.labels, self._runs, strict=True)
            for problem in run.problems("trace", "compile log")
        )

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the numbers leave out, one sentence each."""
        notes = [note for pair in self.pairs for note in pair.left_out]
        if not self.pairs and self.numbers.baseline.summary is not None:
            notes += self.numbers.baseline.summary.notes
        return tuple(dict.fromkeys((*self.problems, *notes)))

    def compilation_of(self, index: int) -> CompilationReport | None:
        """What the compiler of one run did, beside the other runs; None without logs.

        Args:
            index: position among the runs; 0 is the baseline.
        """
        log = self._runs[index].compile_log
        if log is None:
            return None
        cost = self.numbers.candidates[index - 1].compile if index else None
        other_runs: tuple[Other, ...] = ()
        if log.frame_skips:  # nobody else asks what was lost
            runs = [
                (label, run.record, run.compile_log)
                for label, run in zip(self.labels, self._runs, strict=True)
            ]
            other_runs = others_of(runs, index)
        return self._runs[index].compilation_beside(other_runs, cost)

    def check(self) -> "Comparison":
        """The same, where every run has at least something to compare.

        Raises:
            FusionscopeError: a trace cannot be read, and its run was not timed either.
        """
        for run in self._runs:
            measured = run.record.measurement
            if measured is None or not measured.rounds:
                for problem in run.problems("trace"):
                    raise problem.error()
        return self

    def lasting(
        self, question: Hashable, beside: Run, kind: type[T], make: Callable[[], Made]
    ) -> T | Made:
        """What is computed of these runs together, where other processes find it too.

        Args:
            question: about these runs.
            beside: the run beside whose columns the answer lies.
            kind: of the answer, a record.
            make: computes it where nobody has kept it.
        """
        asked = (beside.files.trace, self.version, question)
        return lasting(
            self._cache, asked, kind, make, lambda: not any(run.unreadable for run in self.runs)
        )

    def has_lasting(self, question: Hashable, beside: Run, kind: type[T]) -> bool:
        """Would `lasting` find the answer?"""
        return is_kept(self._cache, (beside.files.trace, self.version, question), kind)

    def answer(self, question: Hashable, make: Callable[[], T]) -> T:
        """What is computed of these runs together, once for each version of them.

        An answer made without an unreadable file is not shared with a process that can read it.
        """
        unread = tuple(run.unreadable for run in self.runs)
        return self._cache.get(("comparison", self.version, unread, question), make)
