"""Small answers do not wait for the acknowledgement of what was sent before."""

import socket

import pytest

from profiler_core.ui import nagle


def is_off(connection: socket.socket) -> bool:
    return bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_connections_that_come_in_afterwards_send_at_once(family: int) -> None:
    address = "127.0.0.1" if family == socket.AF_INET else "::1"
    with socket.create_server((address, 0), family=family) as server:
        where = server.getsockname()
        assert nagle.send_at_once(where[1]) == 1
        with socket.create_connection(where[:2]), server.accept()[0] as accepted:
            assert is_off(accepted)


def test_other_sockets_stay_as_they_are() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_server(("127.0.0.1", 0)) as other,
        socket.create_connection(server.getsockname()) as client,
    ):
        assert nagle.send_at_once(server.getsockname()[1]) == 1
        assert not is_off(other)
        assert not is_off(client)
        assert nagle.send_at_once(client.getsockname()[1]) == 0
