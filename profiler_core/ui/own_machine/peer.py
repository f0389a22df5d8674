"""Which user's process sent a request, where Linux tells: a stolen cookie opens nothing then.

Browsers send a cookie of `localhost` to each of its ports, so a server of another user on the same
machine gets it as soon as the owner's browser looks there. `/proc/net/tcp` names the user of each
socket: only requests from sockets of the owner (or of root, who can read everything anyway) are
answered. A port that is forwarded by `ssh -L` ends in a process of whoever forwards it.
"""

import ipaddress
import os
import socket
import sys
from functools import lru_cache
from pathlib import Path

from starlette.types import Scope

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_MAPPED = "0000000000000000FFFF0000"  # before an IPv4 address among the IPv6 ones
_UID, _INODE = 7, 9  # columns

Address = tuple[str, int]  # IP and port


def is_of_owner(scope: Scope) -> bool:
    """Was the request sent by a process of this server's user, or of root?

    True also where the system does not tell (no Linux), or the request came over no network.
    """
    client, server = scope.get("client"), scope.get("server")
    if any(name == b"x-forwarded-for" for name, _ in scope["headers"]):
        return not _is_told()  # the web server put what it says in the client's place
    if not client or not server or not server[1] or not _is_told():
        return True
    return user_of((client[0], client[1]), (server[0], server[1])) in _owners()


def user_of(client: Address, server: Address) -> int | None:
    """The user whose process holds the client's end of this connection; None: nobody does.

    A connection that its client closed already belongs to nobody: Linux would say root.
    """
    for local, remote in zip(_written(client), _written(server), strict=True):
        for table in _TABLES:
            try:
                text = table.read_text("ascii")
            except OSError:
                continue
            position = text.find(f" {local} {remote} ")
            if position >= 0:
                line = text[position : text.find("\n", position)].split()
                uid, inode = int(line[_UID - 1]), int(line[_INODE - 1])
                return uid if inode else None
    return None


def _owners() -> frozenset[int]:
    by_sudo = os.environ.get("SUDO_UID", "")
    own = {0, os.getuid()}
    if os.getuid() == 0 and by_sudo.isdecimal() and len(by_sudo) < 10:
        own.add(int(by_sudo))
    return frozenset(own)


def _written(address: Address) -> tuple[str, ...]:
    """The address as the tables write it: as IPv4 and as that among IPv6, or as IPv6."""
    ip, port = ipaddress.ip_address(address[0].partition("%")[0]), address[1]
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    words = [ip.packed[n : n + 4] for n in range(0, len(ip.packed), 4)]
    text = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    if ip.version == 6:
        return (f"{text}:{port:04X}", f"{text}:{port:04X}")
    return (f"{text}:{port:04X}", f"{_MAPPED}{text}:{port:04X}")


@lru_cache(maxsize=1)
def _is_told() -> bool:
    """Does this system say whose a socket is? Tried with one of our own."""
    if not hasattr(os, "getuid"):
        return False
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            where = server.getsockname()
            with socket.create_connection(where) as client:
                return user_of(client.getsockname(), where) == os.getuid()
    except (OSError, ValueError):
        return False
