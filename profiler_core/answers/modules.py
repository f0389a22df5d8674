"""Device time by nn.Module and by operator.

Times are totals over all profiled steps, in whole ns: so the rows right below a row, with its own
operators', sum to it, and those of depth 1 to the device time of the steps.
"""

from typing import Annotated

import msgspec

from profiler_core.analysis.graph_replays.phases import Bucket
from profiler_core.analysis.graph_replays.servers import Phase
from profiler_core.analysis.modules import ModuleRow
from profiler_core.analysis.operators import OperatorRow
from profiler_core.answers.record import Answer, means
from profiler_core.session.divided import Divided
from profiler_core.session.pair import Pair
from profiler_core.session.run import Run


class ModuleAnswer(Answer, frozen=True):
    """An nn.Module with everything below it."""

    path: Annotated[
        str,
        means("`(model)` for the whole model, `(optimizer)` and `(in no module)` for the rest"),
    ]
    class_: Annotated[str, means("empty where no Python call and no log names it")] = msgspec.field(
        name="class"
    )
    depth: Annotated[int, means("1 for those that sum to the step")]
    n_modules: Annotated[
        int | None, means("how many equal ones are one row; null where no file says it")
    ]
    n_merged: Annotated[
        int | None,
        means(
            "calls per step of one compiled block that fall together, as no file says of which of "
            "the model's blocks each is; else null",
            "count",
        ),
    ]
    baseline_ns: Annotated[int, means("over all profiled steps", "ns")]
    candidate_ns: Annotated[int, means("over all profiled steps", "ns")]
    baseline_shared_ns: Annotated[
        int, means("of it, the module's part of kernels that work for others too", "ns")
    ]
    candidate_shared_ns: Annotated[int, means("likewise", "ns")]
    n_kernels: Annotated[
        tuple[int, int], means("both sides: kernels that work for it, shared ones included")
    ]
    n_copies: Annotated[tuple[int, int], means("likewise: copies and memsets")]
    bytes_moved: Annotated[
        tuple[float | None, float | None],
        means("both sides, by shapes; null where one is not known", "bytes"),
    ]
    made_bytes: Annotated[
        tuple[float | None, float | None],
        means(
            "both sides: allocated; null without memory in the trace, or beside CUDA graphs",
            "bytes",
        ),
    ]
    groups: Annotated[tuple[int, ...], means("places in `fusion.groups`; empty in `server`")]


class OperatorAnswer(Answer, frozen=True):
    """An operator, all its calls together.

    Of the baseline, or of the candidate where only the baseline has kernels that no operator
    launches.
    """

    op: Annotated[str, means("as the trace names it")]
    only_in_candidate: bool
    n: Annotated[int, means("calls of the side that names it, over all profiled steps", "count")]
    baseline_ns: Annotated[int, means("over all profiled steps", "ns")]
    candidate_ns: Annotated[
        int,
        means(
            "over all profiled steps; on either side kernels that do the work of several "
            "operators are divided in proportion to what these take on the side that names them",
            "ns",
        ),
    ]
    groups: Annotated[tuple[int, ...], means("places in `fusion.groups`; empty in `server`")]


class TablesAnswer(Answer, frozen=True):
    """Device time, divided in two ways."""

    n_steps: Annotated[tuple[int, int], means("pair: profiled steps", "count")]
    modules: Annotated[
        tuple[ModuleAnswer, ...], means("each above what lies in it, in program order: {keys}")
    ]
    by_class: Annotated[
        tuple[ModuleAnswer, ...],
        means("equal modules as one row, `*` for the numbers of layers; the same keys"),
    ]
    operators: Annotated[
        tuple[OperatorAnswer, ...], means("the most expensive of the candidate first: {keys}")
    ]


class BucketAnswer(TablesAnswer, frozen=True):
    """The same of the steps of one phase and batch size of a server."""

    phase: Phase
    batch: int | None


class DividedAnswer(TablesAnswer, frozen=True):
    """The ledger's device time, divided in two ways."""

    server: Annotated[
        tuple[BucketAnswer, ...],
        means(
            "the same of an inference server's steps by `phase` and `batch`, of those that both "
            "runs have: their times sum to that of all their steps; empty for a trace of no server"
        ),
    ]


def divided_answer(divided: Divided, shown: Run | Pair) -> DividedAnswer:
    """The keys of `divided`.

    Args:
        divided: of all steps.
        shown: what it is of, which knows the steps of a server too.
    """
    buckets = tuple(bucket_answer(shown, bucket) for bucket in shown.server_buckets)
    return DividedAnswer.of(tables_answer(divided), server=buckets)


def bucket_answer(shown: Run | Pair, bucket: Bucket) -> BucketAnswer:
    """The tables of a server's steps of one phase and batch size.

    Their groups are left out: those of this ledger stand in no answer.
    """
    tables = tables_answer(shown.divided_of(bucket))
    phase, batch = bucket
    replace = msgspec.structs.replace
    return BucketAnswer.of(
        tables,
        phase=phase,
        batch=batch,
        modules=tuple(replace(row, groups=()) for row in tables.modules),
        by_class=tuple(replace(row, groups=()) for row in tables.by_class),
        operators=tuple(replace(row, groups=()) for row in tables.operators),
    )


def tables_answer(divided: Divided) -> TablesAnswer:
    """Modules and operators of one division."""
    tree = divided.modules
    return TablesAnswer(
        tree.root.n_steps,
        tuple(map(module_answer, tree.rows[1:])) if tree.is_known else (),
        tuple(map(module_answer, tree.by_class)) if tree.is_known else (),
        tuple(map(operator_answer, divided.operators)),
    )


def module_answer(row: ModuleRow) -> ModuleAnswer:
    """One module, or several equal ones."""
    before, after = row.sides
    return ModuleAnswer.of(
        row,
        path=row.path or ", ".join(row.members),
        class_=row.class_name,
        n_modules=max(1, len(row.members)) if row.n_merged is None else None,
        baseline_ns=before.time_ns,
        candidate_ns=after.time_ns,
        baseline_shared_ns=before.shared_ns,
        candidate_shared_ns=after.shared_ns,
        n_kernels=(before.n_kernels, after.n_kernels),
        n_copies=(before.n_copies, after.n_copies),
        bytes_moved=(before.bytes_moved, after.bytes_moved),
        made_bytes=(before.made_bytes, after.made_bytes),
    )


def operator_answer(row: OperatorRow) -> OperatorAnswer:
    """One operator."""
    return OperatorAnswer.of(
        row,
        only_in_candidate=row.is_only_in_candidate,
        baseline_ns=row.time_ns[0],
        candidate_ns=row.time_ns[1],
    )
