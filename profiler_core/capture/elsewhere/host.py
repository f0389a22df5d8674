"""Which machine a capture runs on: its address and what is needed there, checked. Starts nothing.

An address reaches ssh as words of its own, behind `--`; nothing in it can become an option, and
what runs there is sent over standard input, so no name of a person's reaches a shell there.
"""

import re
from dataclasses import dataclass

import msgspec

from profiler_core.errors import BadInput
from profiler_core.settings import FILE, Host, settings

_ADDRESS = re.compile(
    r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.+-]*)@)?"
    r"(?P<host>[A-Za-z0-9][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:]+(?:%[A-Za-z0-9]+)?\])"
    r"(?::(?P<port>\d{1,5}))?"
)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")  # of what Kubernetes has names for
_SCHEME = "ssh://"
_LONGEST = 200  # characters of a text that is repeated
_LARGEST_PORT = 65_535


@dataclass(frozen=True)
class Address:
    """`user@host:port`, in its parts."""

    user: str | None
    host: str
    port: int | None

    @property
    def words(self) -> list[str]:
        """As ssh takes it; the last words before the command."""
        port = [] if self.port is None else ["-p", str(self.port)]
        user = [] if self.user is None else ["-l", self.user]
        return [*port, *user, "--", self.host.strip("[]")]


def read_address(text: str) -> Address:
    """An address that ssh knows: a name of ~/.ssh/config, a host, `user@host`, `user@host:port`.

    Raises:
        BadInput: it is none.
    """
    match = _ADDRESS.fullmatch(text)
    port = int(match["port"]) if match and match["port"] else None
    if match is None or (port is not None and not 0 < port <= _LARGEST_PORT):
        raise BadInput(
            f"{text[:_LONGEST]!r} is no address of a machine.",
            remedy="Write it like user@gpu-box or user@gpu-box:2222.",
        )
    return Address(match["user"], match["host"], port)


def host_named(text: str) -> Host:
    """The machine of that name in the settings, else the one at that address; ssh:// means that.

    Raises:
        BadInput: neither; or the settings cannot be used.
    """
    named = settings().hosts.get(text)
    return checked(named or Host(ssh=text.removeprefix(_SCHEME)))


def checked(host: Host) -> Host:
    """The same.

    Raises:
        BadInput: what it says does not fit together.
    """
    if host.ssh is not None:
        read_address(host.ssh)
    if host.kubernetes:
        _check_kubernetes(host)
    for option in host.slurm_options:
        if not option.startswith("-") or not option.isprintable():
            raise BadInput(
                f"{option[:_LONGEST]!r} is no option of sbatch.",
                remedy="Write each like --partition=gpu.",
            )
    if not (host.ssh or host.slurm or host.kubernetes):
        raise BadInput(
            "It is not said how the machine is reached.",
            remedy=f"Give it ssh, slurm or kubernetes in {FILE} (docs/hosts.md).",
        )
    return host


def _check_kubernetes(host: Host) -> None:
    if host.ssh or host.slurm:
        raise BadInput(
            "A capture runs as a Job of Kubernetes, or over ssh and Slurm.",
            remedy="Leave one of them out.",
        )
    if not (host.image or "").strip():
        raise BadInput(
            "A Job of Kubernetes needs an image, and none is named.",
            remedy="Pass --image with one that has torch and Python 3.11 or newer.",
        )
    for what, name in (("namespace", host.namespace), ("context", host.context)):
        if name is not None and (name.startswith("-") or not name.isprintable() or not name):
            raise BadInput(f"{name[:_LONGEST]!r} is no {what}.", remedy="Write its name.")
    if host.namespace is not None and not _NAME.fullmatch(host.namespace):
        raise BadInput(f"{host.namespace[:_LONGEST]!r} is no namespace.", remedy="Write its name.")
    if host.gpus < 0:
        raise BadInput(f"--gpus is {host.gpus}.", remedy="Pass 0 or more.")


def called(host: Host) -> str:
    """What people read."""
    if host.kubernetes:
        return f"Kubernetes ({host.namespace or 'its default namespace'})"
    if host.slurm:
        return f"Slurm at {host.ssh}" if host.ssh else "Slurm"
    return host.ssh or ""


def host_words(host: Host) -> list[str]:
    """The words of `capture` that name this very machine; `python` goes into the spec."""
    words = [f"--host={_SCHEME}{host.ssh}"] if host.ssh else []
    words += ["--slurm"] if host.slurm else []
    words += [f"--slurm-option={option}" for option in host.slurm_options]
    words += ["--kubernetes"] if host.kubernetes else []
    defaults = Host()
    for field, flag in (
        ("folder", "host-folder"), ("image", "image"), ("namespace", "namespace"),
        ("context", "context"), ("gpus", "gpus"),
    ):  # fmt: skip
        value = getattr(host, field)
        words += [f"--{flag}={value}"] if value != getattr(defaults, field) else []
    return words


def with_words(host: Host | None, **given: object) -> Host | None:
    """The same with what was given beside it; None where nothing says that there is a machine.

    Raises:
        BadInput: it does not fit together.
    """
    changes = {name: value for name, value in given.items() if value not in (None, False, ())}
    if host is None and not changes:
        return None
    return checked(msgspec.structs.replace(host or Host(), **changes))
