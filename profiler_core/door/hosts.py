"""Which other machines a request may reach: those that the owner listed, on one's own machine any.

A name that somebody typed never becomes an address on a server for several people: it only chooses
among the owner's, with the interpreter that the owner wrote beside it.
"""

from dataclasses import replace

from profiler_core.capture.against import against_of
from profiler_core.capture.elsewhere.host import checked, host_named
from profiler_core.capture.spec import CaptureSpec
from profiler_core.door.asker import Asker, Refused
from profiler_core.settings import FILE, Host, settings

_LONGEST = 200  # characters of a text that is repeated


def may_name_any_host(asker: Asker) -> bool:
    """Whether this person may pass any address: on their own machine, and never as an agent."""
    return asker.is_own_machine and not asker.is_agent


def host_for(name: str, asker: Asker) -> Host | None:
    """The machine that is asked for; None: this one.

    Args:
        name: as the settings have it, or an address; empty: this machine.
        asker: who may name any address on the own machine, and elsewhere only what is listed.

    Raises:
        Refused: it is not on the list.
        BadInput: it is no address, or what the settings say of it does not fit together.
    """
    name = name.strip()
    if not name:
        return None
    if may_name_any_host(asker):
        return host_named(name)
    listed = settings().hosts.get(name)
    if listed is None:
        raise Refused(
            f"Captures may not run on {name[:_LONGEST]} from here.",
            remedy=f"Choose one from the list, or ask whoever runs the server to add it to [hosts] "
            f"in {FILE}.",
        )
    return checked(listed)


def with_its_interpreter(spec: CaptureSpec, host: Host, asker: Asker) -> CaptureSpec:
    """The spec with the interpreter of that machine, where it names none itself.

    Raises:
        Refused: it names another one, and this person may not.
    """
    against = against_of(spec)
    sweep = spec.sweep
    named = [
        spec.python,
        against.value if against is not None and against.kind == "python" else None,
        *(sweep.values if sweep is not None and sweep.parameter == "python" else ()),
    ]
    others = [python for python in named if python and python != host.python]
    if others and not may_name_any_host(asker):
        raise Refused(
            f"The interpreter {others[0][:_LONGEST]} may not be started there.",
            remedy="Leave it out: the one that stands beside the machine in the settings is taken.",
        )
    return replace(spec, python=spec.python or host.python)
