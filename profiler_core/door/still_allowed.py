"""Whether what waits may be started still: the owner may have changed the lists meanwhile."""

import argparse
from collections.abc import Sequence

from profiler_core.capture.elsewhere.host import checked, host_words
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
from profiler_core.door.asker import Asker, Refused
from profiler_core.door.hosts import with_its_interpreter
from profiler_core.door.interpreters import with_listed_interpreters
from profiler_core.door.servers import check_still_listed, is_profile
from profiler_core.errors import BadInput, CaptureFailed
from profiler_core.settings import FILE, settings
from profiler_core.worker.process import PACKAGE

_OF_A_HOST = (
    *("--host=", "--slurm", "--kubernetes", "--host-folder=", "--image=", "--namespace="),
    *("--context=", "--gpus="),
)
_AGAIN = "Start it again."


def check_still_allowed(asker: Asker, command: Sequence[str], runner: str | None) -> None:
    """Would the door start this capture, experiment or profile of a server at this moment?

    Args:
        asker: whose it is.
        command: of the job, as `deeds`, `experimenting` and `servers` submitted it.
        runner: the user of the system that it runs as; None: who runs the server.

    Raises:
        Refused: it names an interpreter, a machine or a server that is on no list any more, or
            captures run as another user now.
        BadInput: settings.toml cannot be used.
    """
    if is_profile(command):
        check_still_listed(command)
        return
    if runner != settings().runner_user:
        raise Refused(
            f"Captures run as another user of the system by now ({FILE}: runner_user).",
            remedy=_AGAIN,
        )
    if PACKAGE not in command:
        return
    words = list(command)[list(command).index(PACKAGE) + 2 :]  # behind the verb
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    add_spec_arguments(parser)
    try:
        arguments, others = parser.parse_known_args(words)
        spec = spec_from_namespace(arguments)
    except (argparse.ArgumentError, SystemExit, BadInput) as error:
        raise Refused("Another version of Fusionscope asked for it.", remedy=_AGAIN) from error
    of_host = [word for word in others if word.startswith(_OF_A_HOST)]
    if not of_host:
        try:
            with_listed_interpreters(spec, asker)
        except CaptureFailed:  # it is listed, and the capture says that it is gone
            return
        return
    host = next((h for h in settings().hosts.values() if host_words(checked(h)) == of_host), None)
    if host is None:
        raise Refused(
            f"The machine that it was to run on is not in [hosts] of {FILE} any more.",
            remedy="Choose one from the list.",
        )
    with_its_interpreter(spec, host, asker)
