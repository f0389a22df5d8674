"""The run of the fastest setting that experiments have found for a workload."""

from pathlib import Path

from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import BadInput
from profiler_core.experiments.request import spec_of, spec_of_run
from profiler_core.model.run import RunRecord
from profiler_core.store.experiments import experiments

_SAME = ("workload", "batch_size", "shapes", "options", "training")


def best_run(out: Path, record: RunRecord) -> Path:
    """Its folder, of the newest experiment on the same workload with the same inputs.

    Args:
        out: the folder of all captures.
        record: of a run of that workload.

    Raises:
        BadInput: no experiment on it has ended here, or its run is gone.
    """
    wanted = spec_of_run(record)
    for experiment in experiments(out) if wanted is not None else ():
        leader = leader_of(experiment)
        if leader.batch is None or leader.trial is None or experiment.state == "running":
            continue
        if _key(spec_of(experiment)) != _key(wanted):
            continue
        variant = "eager" if leader.is_baseline else leader.trial.folder
        folder = out / leader.batch.capture_id / variant
        if folder.is_dir():
            return folder
    name = record.workload or record.name or "this run"
    raise BadInput(
        f"No experiment on {name} with these inputs lies in {out}.",
        remedy=f"Run fusionscope try {wanted.workload if wanted else 'WORKLOAD'} first.",
    )


def _key(spec: CaptureSpec | None) -> tuple[object, ...]:
    return tuple(getattr(spec, name) for name in _SAME)
