"""The websocket of a team's server answers the pages of this server alone."""

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.attack.servers import Dashboard


@pytest.mark.parametrize("origin", ["http://localhost:1", "https://evil.example", "null"])
def test_another_page_opens_no_websocket(api_server: Dashboard, origin: str) -> None:
    """Browsers send the cookie of a sign-in to it from each port of its name."""
    address = f"ws://localhost:{api_server.port}/_stcore/stream"
    with pytest.raises(InvalidStatus) as refusal:
        connect(address, origin=Origin(origin))
    assert refusal.value.response.status_code == 403
    with connect(address, origin=Origin(f"http://localhost:{api_server.port}")) as socket:
        assert socket.response is not None
        assert socket.response.status_code == 101
