"""Kernels of a run for agents: by name, one with its generated code, and what counters measured.

As in `tools.py`, names, docstrings and parameters are what it reads.
"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from profiler_core.agents.answer import FEW_ROWS, Page, page
from profiler_core.agents.runs import path_of, run_at
from profiler_core.analysis.dossier.copies import Way, copied
from profiler_core.analysis.dossier.launching import calls_in_steps, launching_calls
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.answers.counters import CountedKernel, CountersTotals, counters_answer
from profiler_core.answers.record import Answer, means
from profiler_core.cli.counters import report_of
from profiler_core.errors import BadInput
from profiler_core.model.inductor import KernelDefinition
from profiler_core.model.trace import one_name
from profiler_core.session.run import Run

_CODE_CHARACTERS = 6_000  # of one page of generated code
_NAME_CHARACTERS = 160  # names of C++ templates have thousands

_NO_KERNEL = "Copies and memsets are no kernels and have no code."

_OF_SUMMARY = means("over the profiled window, as in [summary](json.md#summary)", "ns")


class KernelRow(Answer, frozen=True):
    """A kernel by name; copies and memsets too, which count as none."""

    id: Annotated[int, means("what `kernel` takes; of this run alone")]
    name: Annotated[str, means("… stands for what was cut out of a long one")]
    category: str
    n: Annotated[int, means("calls in the window")]
    time_ns: Annotated[int, _OF_SUMMARY]
    mean_ns: Annotated[float, _OF_SUMMARY]
    min_ns: Annotated[int, _OF_SUMMARY]
    max_ns: Annotated[int, _OF_SUMMARY]
    tensor_cores: Annotated[bool | None, means("null: not known")]


class KernelsPage(Page, frozen=True):
    """Kernels by name."""

    n_steps: Annotated[int, means("profiled steps, which totals are over")]
    rows: tuple[KernelRow, ...]


class KernelAnswer(KernelRow, frozen=True, kw_only=True):
    """One kernel with a page of its generated code."""

    n_steps: Annotated[int, means("profiled steps, which totals are over")]
    compile_id: Annotated[
        str | None, means("of the graph that launches it in the profiled steps; of several all")
    ]
    code: Annotated[str | None, means("a page of it; null where no log has it")]
    note: str | UnsetType = UNSET
    copied_bytes: Annotated[
        int | UnsetType,
        means("of copies and memsets: copied or set in the window, by their events", "bytes"),
    ] = UNSET
    way: Annotated[
        Way | UnsetType,
        means(
            "of copies and memsets: `within the device`, `cleared`, `host to device`, "
            "`device to host` or `elsewhere`"
        ),
    ] = UNSET
    inputs: Annotated[tuple[str, ...] | UnsetType, means("`name: shape`")] = UNSET
    nodes: Annotated[tuple[str, ...] | UnsetType, means("`node <- ATen nodes`")] = UNSET
    n_code_characters: int | UnsetType = UNSET
    next_code_offset: Annotated[
        int | UnsetType, means("`code_offset` of the next page; absent on the last")
    ] = UNSET


class CountersPage(CountersTotals, frozen=True, kw_only=True):
    """Totals of the whole file, and a page of its kernels."""

    n: Annotated[int, means("rows on all pages")]
    offset: Annotated[int, means("of the first row here")]
    rows: Annotated[tuple[CountedKernel, ...], means("{keys}")]
    next_offset: Annotated[
        int | UnsetType, means("where the next rows begin; absent on the last page")
    ] = UNSET


def kernels(run: str, contains: str = "", offset: int = 0, limit: int = FEW_ROWS) -> KernelsPage:
    """Kernels, copies and memsets of a run by name, longest first; totals over the window, in ns.

    contains: part of the name. `kernel` takes the id of a row.
    """
    summary = run_at(run).required_summary()
    totals = _work(summary)
    rows = [row for row in kernel_rows(totals) if _has(totals, row, contains)]
    rows.sort(key=lambda row: (-row.time_ns, row.id))
    return page(KernelsPage, rows, offset, limit, summary)


def kernel(run: str, kernel: int | str, code_offset: int = 0) -> KernelAnswer:
    """One kernel: its time, and the code that Inductor generated for it, in pages.

    Of copies and memsets what they move. kernel: an id of kernels, or a name; its beginning is
    enough where it is the only one.
    """
    opened = run_at(run)
    summary = opened.required_summary()
    totals = _work(summary)
    number = _number(totals, kernel, run)
    total = totals[number]
    if number >= len(summary.kernels):
        moved = copied(opened.required_trace(), total.name)
        return KernelAnswer.of(
            total,
            id=number,
            n_steps=summary.n_steps,
            compile_id=None,
            code=None,
            note=_NO_KERNEL,
            copied_bytes=UNSET if moved is None else moved.n_bytes,
            way=UNSET if moved is None else moved.way,
        )
    definition, compile_id = _definition(opened, total.name)
    answer = KernelAnswer.of(
        total,
        id=number,
        n_steps=summary.n_steps,
        compile_id=compile_id,
        code=None,
    )
    if definition is None:
        return replace(answer, note="No structured log has its generated code.")
    first = max(0, code_offset)
    end = first + _CODE_CHARACTERS
    return replace(
        answer,
        inputs=tuple(f"{label}: {shape}" for label, shape in definition.inputs),
        nodes=tuple(f"{node} <- {', '.join(aten)}" for node, aten in definition.nodes),
        code=definition.source[first:end],
        n_code_characters=len(definition.source),
        next_code_offset=end if end < len(definition.source) else UNSET,
    )


def counters(run: str, contains: str = "", offset: int = 0, limit: int = FEW_ROWS) -> CountersPage:
    """What Nsight Compute measured: DRAM and L2 bytes, bandwidth, occupancy, tensor pipe.

    run: one that holds counters, or a CSV file. contains: part of a kernel's name. Sums are of
    the whole file; estimated_bytes is what shapes demand.
    """
    answer = counters_answer(report_of(path_of(run)))
    rows = [
        replace(counted, name=clipped(counted.name, _NAME_CHARACTERS))
        for counted in answer.kernels
        if contains.lower() in counted.name.lower()
    ]
    return page(CountersPage, rows, offset, limit, answer)


def kernel_rows(totals: Sequence[KernelTotal]) -> list[KernelRow]:
    """One row for each kernel of a summary, with the id by which it is asked for."""
    return [
        KernelRow.of(total, id=number, name=clipped(total.name, _NAME_CHARACTERS))
        for number, total in enumerate(totals)
    ]


def _work(summary: Summary) -> tuple[KernelTotal, ...]:
    """Kernels, then copies and memsets: what page Kernels lists; the ids are places in it."""
    return (*summary.kernels, *summary.copies)


def _has(totals: Sequence[KernelTotal], row: KernelRow, text: str) -> bool:
    """Does its whole name hold the text?"""
    return text.lower() in totals[row.id].name.lower()


def _number(totals: Sequence[KernelTotal], wanted: int | str, run: str) -> int:
    """The id of the kernel that is wanted.

    Raises:
        BadInput: there is none, or the name fits several.
    """
    if isinstance(wanted, int) or (wanted.isdecimal() and len(wanted) < 10):
        if 0 <= int(wanted) < len(totals):
            return int(wanted)
        raise BadInput(
            f"{run} has no kernel {wanted}: ids go from 0 to {len(totals) - 1}.",
            remedy="Take an id from kernels.",
        )
    wanted = one_name(wanted)
    exact = [number for number, total in enumerate(totals) if total.name == wanted]
    # As it was shown: what stands before and behind the cut.
    beginning, _, end = wanted.partition("…")
    fitting = exact or [
        number
        for number, total in enumerate(totals)
        if total.name.startswith(beginning) and total.name.endswith(end)
    ]
    if len(fitting) == 1:
        return fitting[0]
    ids = f": ids {', '.join(map(str, fitting))}" if fitting else ""
    raise BadInput(
        f"{len(fitting)} kernels of {run} are called {wanted[:200]}{ids}.",
        remedy="Take an id from kernels.",
    )


def _definition(run: Run, name: str) -> tuple[KernelDefinition | None, str | None]:
    code = run.code
    side = run.material.ledger_side
    if code is not None and side is not None:
        calls = calls_in_steps(code, name, lambda: launching_calls(side))
        if calls and (definition := calls[0][0].kernels.get(name)) is not None:
            ids = [graph.compile_id for graph, _ in calls if graph.kernels.get(name) == definition]
            return definition, ", ".join(dict.fromkeys(ids))
    for graph in code.graphs if code else ():
        for kernel_name, definition in graph.kernels.items():
            # On the CPU the trace says graph_0_cpp_fused_…, the module cpp_fused_….
            if name == kernel_name or name.endswith(f"_{kernel_name}"):
                return definition, graph.compile_id
    return None, None


KERNELS = (kernels, kernel, counters)
