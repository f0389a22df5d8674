"""The timed rounds of a run (`Measurement`), or the error that says that it has none."""

from profiler_core.errors import BadInput
from profiler_core.model.run import Measurement
from profiler_core.session.run import Run


def required_measurement(run: Run) -> Measurement:
    """What was timed, for an estimate of noise.

    Raises:
        BadInput: nothing was.
    """
    measured = run.record.measurement
    if measured is None or not measured.rounds:
        raise BadInput(
            f"The run {run.path} was not timed, so it cannot serve to estimate noise.",
            remedy="Pass a run that was captured with timed rounds.",
        )
    return measured
