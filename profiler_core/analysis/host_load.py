"""Was the host busy with other work while a run was timed, so that its numbers are worth less?"""

from collections.abc import Iterable

from profiler_core.model.run import HostLoad

# From here on other work is likely to have shared a core with the run, or its memory bandwidth.
_BUSY_SHARE = 0.25  # of all CPUs, kept busy by others
_WAITED_SHARE = 0.05  # of the time in which the run's threads could have run


def waited_too_long(load: HostLoad | None) -> bool | None:
    """Did the run's own threads wait for a CPU? None: that was not recorded."""
    if load is None or load.waited_share is None:
        return None
    return load.waited_share > _WAITED_SHARE


def is_busy(load: HostLoad) -> bool:
    """Did other work take so much of the host that the times suffered, or may have?"""
    others = load.others_cpus is not None and load.n_cpus is not None
    takes_much = others and (load.others_cpus or 0.0) > _BUSY_SHARE * (load.n_cpus or 1)
    return takes_much or waited_too_long(load) is True


def busiest(loads: Iterable[HostLoad | None]) -> HostLoad | None:
    """The heaviest load of those under which the host was busy; None: it never was."""
    busy = [load for load in loads if load is not None and is_busy(load)]
    return max(
        busy, key=lambda load: (load.others_cpus or 0.0, load.waited_share or 0.0), default=None
    )
