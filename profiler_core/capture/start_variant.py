"""Starts the process of a variant, or one for each of its ranks, with its spec."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from profiler_core.capture import process_settings
from profiler_core.capture.context import Context
from profiler_core.capture.process import Child
from profiler_core.capture.python_path import activated
from profiler_core.capture.ranks import RankGroup, directory_of, path_of
from profiler_core.capture.spec import VariantSpec
from profiler_core.capture.torch_settings import child_environment


@dataclass(frozen=True)
class ProcessPaths:
    """Where a process writes. run: the run directory; work: goes away with the capture.

    under: a profiler with its arguments that starts the process; environment: what that needs.
    """

    run: Path
    work: Path
    torch_trace: Path
    stdout: Path
    stderr: Path
    under: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def of_rank(self, rank: int) -> "ProcessPaths":
        """The same files of another rank."""
        return replace(
            self,
            torch_trace=path_of(self.torch_trace, self.run, rank),
            stdout=path_of(self.stdout, self.run, rank),
            stderr=path_of(self.stderr, self.run, rank),
        )


def cache_of(context: Context, work: Path) -> Path:
    """The folder of a variant's compiler caches: below its `work`, or where a search keeps it."""
    kept = context.selection
    return work / "cache" if kept is None else kept.caches / work.name


def start_variant(context: Context, variant: VariantSpec, paths: ProcessPaths) -> Child | RankGroup:
    """Start it; it waits for its first command."""
    n_ranks = context.spec.n_ranks
    if n_ranks == 1:
        return start_process(context, variant, paths)
    store = paths.work / "store"
    store.unlink(missing_ok=True)  # what an earlier group left would be taken for this one's
    children = []
    for rank in range(n_ranks):
        directory_of(paths.run, rank).mkdir(parents=True, exist_ok=True)
        device = f"cuda:{rank}" if context.is_cuda else "cpu"
        meeting: dict[str, object] = {"rank": rank, "world_size": n_ranks, "store": str(store)}
        children.append(_start(context, variant, paths.of_rank(rank), device, meeting))
    return RankGroup(children, paths.run, context.look)


def start_process(context: Context, variant: VariantSpec, paths: ProcessPaths) -> Child:
    """Start a variant that is one process."""
    return _start(context, variant, paths, context.device, None)


def safe_path(workload: str) -> dict[str, str]:
    """The variable by which what a workload of a known name starts looks for no module here.

    Inductor asks by `python -c` what the CPU can, and Python looks first in the current folder,
    which may be somebody else's. A file of the user's may count on finding what lies beside it.
    """
    is_file = ":" in workload or workload.endswith(".py")
    return {} if is_file else {"PYTHONSAFEPATH": "1"}  # of Python 3.11 on, else ignored


def _start(
    context: Context,
    variant: VariantSpec,
    paths: ProcessPaths,
    device: str,
    ranks: dict[str, object] | None,
) -> Child:
    spec = context.spec
    return Child(
        context.interpreter.executable,
        {
            "device": device,
            "ranks": ranks,
            "workload": spec.workload,
            "directory": spec.directory and str(Path(spec.directory).expanduser().absolute()),
            "batch_size": spec.batch_size,
            "shapes": spec.shapes,
            "options": dict(spec.options),
            "training": spec.trains,
            "seed": spec.seed,
            "variant": variant.to_dict(),
            "as_is_beside": any(other.is_as_is for other in spec.variants),
        },
        {
            **activated(
                child_environment(
                    context.interpreter.log_names,
                    cache_of(context, paths.work),
                    paths.torch_trace,
                    further_logs=spec.logs,
                ),
                context.interpreter.executable,
            ),
            **safe_path(spec.workload),
            **process_settings.environment(variant.settings),
            **paths.environment,
        },
        paths.work,
        paths.stdout,
        paths.stderr,
        context.look,
        paths.under,
    )
