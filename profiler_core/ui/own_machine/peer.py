"""Which user's process sent a request, where Linux tells: a stolen cookie opens nothing then.

Browsers send a cookie of `localhost` to each of its ports, so a server of another user on the same
machine gets it as soon as the owner's browser looks there. `/proc/net/tcp` names the user of each
socket: only requests from sockets of the owner (or of root, who can read everything anyway) are
answered. A port that is forwarded by `ssh -L` ends in a process of whoever forwards it.
"""

import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import anyio
from starlette.types import Scope

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_MAPPED = "0000000000000000FFFF0000"  # before an IPv4 address among the IPv6 ones
_UID, _INODE = 7, 9  # columns

# linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h
_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _REQUEST, _LISTENING = 4, 20, 1, 10
_HEADER, _ASKED = struct.Struct("=IHHII"), struct.Struct("=BBBBI")  # nlmsghdr, inet_diag_req_v2
_SOCKET = struct.Struct("!HH16s16s4s8s")  # inet_diag_sockid
_ANSWER = struct.Struct(f"=BBBB{_SOCKET.size}sIIIII")  # inet_diag_msg
_ANY_STATE, _ANY_COOKIE = 0xFFFFFFFF, b"\xff" * 8
_IPV4_BYTES = 4
_TIMEOUT_S = 1.0  # the answer is there when `send` returns

Address = tuple[str, int]  # IP and port


async def was_sent_by_owner(scope: Scope) -> bool:
    """The same as `is_of_owner`, in a thread where the answer takes its time."""
    if _kernel_answers():
        return is_of_owner(scope)
    return await anyio.to_thread.run_sync(is_of_owner, scope)


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
    return (_user_by_kernel if _kernel_answers() else _user_in_tables)(client, server)


def _user_by_kernel(client: Address, server: Address) -> int | None:
    """The same, asked for this one socket."""
    ends = [_packed(client), _packed(server)]
    family = socket.AF_INET if all(len(ip) == _IPV4_BYTES for ip in ends) else socket.AF_INET6
    packed_socket = _SOCKET.pack(client[1], server[1], *ends, bytes(4), _ANY_COOKIE)
    asked = _ASKED.pack(family, socket.IPPROTO_TCP, 0, 0, _ANY_STATE) + packed_socket
    header = _HEADER.pack(_HEADER.size + len(asked), _SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.settimeout(_TIMEOUT_S)
            kernel.send(header + asked)
            answer = kernel.recv(1 << 13)
    except OSError:  # too many open files, say
        return None
    if _HEADER.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:
        return None  # an error: there is no such socket
    _, state, _, _, described, *_, uid, inode = _ANSWER.unpack_from(answer, _HEADER.size)
    # Where nothing is connected, the kernel answers with what listens at the client's address.
    is_this = state != _LISTENING and described[:4] == packed_socket[:4]
    return int(uid) if is_this and inode else None


def _user_in_tables(client: Address, server: Address) -> int | None:
    """The same, looked up among all sockets."""
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
    packed, port = _packed(address), address[1]
    words = [packed[n : n + 4] for n in range(0, len(packed), 4)]
    text = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    if len(packed) != _IPV4_BYTES:
        return (f"{text}:{port:04X}", f"{text}:{port:04X}")
    return (f"{text}:{port:04X}", f"{_MAPPED}{text}:{port:04X}")


def _packed(address: Address) -> bytes:
    """The bytes of its IP; an IPv4 address among those of IPv6 is one of IPv4."""
    ip = ipaddress.ip_address(address[0].partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return ip.packed


@lru_cache(maxsize=1)
def _is_told() -> bool:
    """Does this system say whose a socket is?"""
    return _kernel_answers() or _answers(_user_in_tables)


@lru_cache(maxsize=1)
def _kernel_answers() -> bool:
    """Does it say so when it is asked for one socket?"""
    return hasattr(socket, "AF_NETLINK") and _answers(_user_by_kernel)


def _answers(user: Callable[[Address, Address], int | None]) -> bool:
    """Is this way of asking right about a socket of our own?"""
    if not hasattr(os, "getuid"):
        return False
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            where = server.getsockname()
            with socket.create_connection(where) as client:
                return user(client.getsockname(), where) == os.getuid()
    except (OSError, ValueError, struct.error):
        return False
