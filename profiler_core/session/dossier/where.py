"""Where a kernel runs, which may be another module and another line in each run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profiler_core.analysis.call_lines import telling_nodes
from profiler_core.analysis.dossier.generated import nodes_of_kernel
from profiler_core.analysis.dossier.record import SourceLine
from profiler_core.analysis.ledger.fragments import nodes_of
from profiler_core.analysis.ledger.group_modules import is_in_module
from profiler_core.analysis.ledger.modules import ROOT, node_modules
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.model.inductor import InductorLog
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import first_lines, modules_of
from profiler_core.session.dossier.ledger_runs import ledgers_of
from profiler_core.session.run import Run


@dataclass(frozen=True)
class RunPlaces:
    """The fusion groups that have a kernel in one run, and the lines that it computes."""

    label: str  # of the run
    told_by: Run  # whose log says their lines
    groups: tuple[FusionGroup, ...]
    lines: Mapping[str, str]  # "models.py:28" -> its code


def places_of_kernel(comparison: Comparison, name: str) -> list[RunPlaces]:
    """Of each run in whose groups a kernel is, the baseline first; none where nothing matches."""
    places: list[RunPlaces] = []
    for shown in ledgers_of(comparison):
        for n, label in enumerate(shown.labels):
            groups = tuple(
                group
                for group in shown.groups
                if any(kernel.name == name for kernel in shown.sides_of(group)[n].kernels)
            )
            if not groups or not (n or all(place.label != label for place in places)):
                continue
            log = comparison.runs[shown.runs[n]].shown.code
            lines = _lines_of_nodes(log, name) if log is not None else {}
            if not lines:
                of_group = [(group, shown.sides_of(group)[n].kernels) for group in groups]
                lines = {
                    line: code
                    for group, kernels in of_group
                    for line, code in group.sources
                    if any(line in kernel.lines for kernel in kernels if kernel.name == name)
                }
            places.append(RunPlaces(label, shown.told_by, groups, lines))
    return places


def modules_at(places: Sequence[RunPlaces]) -> tuple[str, ...]:
    """Each nn.Module of any run, once."""
    return modules_of(group for place in places for group in place.groups)


def sources_at(places: Sequence[RunPlaces]) -> tuple[SourceLine, ...]:
    """The first lines of each run, each once."""
    lines: dict[str, SourceLine] = {}
    for place in places:
        for line in first_lines(place.told_by, place.lines):
            lines.setdefault(line.label, line)
    return tuple(lines.values())


def sources_of_operator(
    told_by: Run, groups: Sequence[FusionGroup], name: str
) -> tuple[SourceLine, ...]:
    """The lines of an operator's own calls, those of most groups first.

    Args:
        told_by: the run whose log says them.
        groups: that have the operator.
        name: of the operator.
    """
    n_groups: Counter[str] = Counter()
    codes: dict[str, str] = {}
    for group in groups:
        operators = (*group.baseline.operators, *group.candidate.operators)
        own = {line for op in operators if op.op == name for line in op.lines}
        n_groups.update(own)
        codes.update((line, code) for line, code in group.sources if line in own)
    ordered = sorted(codes, key=lambda line: (-n_groups[line], line))
    return first_lines(told_by, {line: codes[line] for line in ordered})


def sources_of_modules(
    told_by: Run, groups: Sequence[FusionGroup], paths: Sequence[str]
) -> tuple[SourceLine, ...]:
    """The lines of groups that modules run themselves; all of the groups' where no graph says it.

    Not those of other modules that the same kernels work for: what adds the result of a layer is
    fused with the norm of the next one.

    Args:
        told_by: the run whose log says them.
        groups: that work for the modules.
        paths: of the modules; "encoder.layer.*.output" stands for several.
    """
    lines = {line: code for group in groups for line, code in group.sources}
    graphs = told_by.code.graphs if told_by.code is not None else ()
    own = {
        node.source
        for graph in graphs
        for module in [node_modules(graph)]
        for node in graph.dynamo_nodes
        if (path := module.get(node.name)) is not None
        and any(each in (ROOT, path) or is_in_module(path, each) for each in paths)
    }
    return first_lines(
        told_by, {line: code for line, code in lines.items() if line in own} or lines
    )


def runs_at(places: Sequence[RunPlaces]) -> dict[str, tuple[str, ...]]:
    """Module or label of a line -> the runs that have the kernel there, where not all of them do.

    A run whose groups all lack a module (or a line) says nothing about where it runs in it.
    """
    runs: dict[str, list[str]] = {}
    for place in places:
        for where in dict.fromkeys((*modules_of(place.groups), *place.lines)):
            runs.setdefault(where, []).append(place.label)
    return {where: tuple(of) for where, of in runs.items() if len(of) < len(places)}


def _lines_of_nodes(log: InductorLog, name: str) -> dict[str, str]:
    """The lines of what a generated kernel computes, those of most nodes first, with their code.

    Not those of its groups: what a group fuses may lie in other lines, and a bias that it adds is
    of a line whose operator runs elsewhere.

    Args:
        log: of the run.
        name: of the kernel.
    """
    n_nodes: Counter[str] = Counter()
    codes: dict[str, str] = {}
    for graph in log.graphs:
        for node in telling_nodes(nodes_of_kernel(graph, name), nodes_of(graph).given):
            n_nodes[node.source] += 1
            codes[node.source] = node.code
    return {line: codes[line] for line, _ in n_nodes.most_common()}
