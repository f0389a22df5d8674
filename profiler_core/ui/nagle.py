"""What the server sends leaves at once, though it is small (no Nagle's algorithm, RFC 896).

asyncio sets TCP_NODELAY on sockets that it makes itself; Streamlit makes its own, on which it does
not (their `proto` is 0). There the body of an answer waited until the browser had acknowledged the
headers, which browsers put off for 40 ms: for each of the 150 files of a first visit, and for the
elements of each click.
"""

import logging
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

_OPEN_FILES = Path("/dev/fd")  # Linux and macOS

_log = logging.getLogger(__name__)


def send_at_once(port: int) -> int:
    """Switch Nagle's algorithm off on what this process listens on at `port`.

    Connections inherit that of the socket that they come in through.

    Returns:
        On how many sockets; 0 on a system that lists no open files.
    """
    try:
        numbers = [int(name) for name in os.listdir(_OPEN_FILES) if name.isdecimal()]  # noqa: PTH208
    except OSError as error:
        _log.info("Answers may wait for acknowledgements: %s", error)
        return 0
    return sum(_switched_off(number, port) for number in numbers)


def _switched_off(number: int, port: int) -> bool:
    with suppress(OSError):  # closed meanwhile
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            return False
        with socket.socket(fileno=os.dup(number)) as opened:
            is_tcp = opened.family in (socket.AF_INET, socket.AF_INET6)
            if is_tcp and _listens(opened) and opened.getsockname()[1] == port:
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return True
    return False


def _listens(opened: socket.socket) -> bool:
    is_stream = opened.type == socket.SOCK_STREAM
    return is_stream and bool(opened.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
