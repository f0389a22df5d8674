"""The websocket of a team's server answers the pages of this server alone."""

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from profiler_core.ui.streamlit_routes import (
    CLOSED_MESSAGES,
    CLOSED_OPERATIONS,
    _is_closed,
)
from tests.attack.browser_session import session
from tests.attack.servers import Dashboard

PADDING = b"\x82\x7d\x80\x80\x08" + b"x" * 131_072  # field 2000, some 128 kB


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


@pytest.mark.parametrize("forwarded", ["https", "https, http"])
def test_a_page_without_tls_opens_no_websocket_behind_tls(
    api_server: Dashboard, forwarded: str
) -> None:
    """Whoever sits on the way serves http://NAME:PORT; some browsers send it the sign-in."""
    address = f"ws://localhost:{api_server.port}/_stcore/stream"
    named = {"X-Forwarded-Proto": forwarded}
    with pytest.raises(InvalidStatus) as refusal:
        connect(
            address,
            origin=Origin(f"http://localhost:{api_server.port}"),
            additional_headers=named,
        )
    assert refusal.value.response.status_code == 403
    own = Origin(f"https://localhost:{api_server.port}")
    with connect(address, origin=own, additional_headers=named) as socket:
        assert socket.response is not None
        assert socket.response.status_code == 101


def test_messages_that_no_page_sends_are_not_answered(api_server: Dashboard) -> None:
    """Who has not signed in learns no file of the checkout, and empties no cache of others."""
    with session(api_server, "x=y") as tab:
        tab.open("runs")
        for name in sorted(CLOSED_MESSAGES):
            message = BackMsg()
            if name == "file_urls_request":
                message.file_urls_request.file_names.append("a")
            else:
                setattr(message, name, True)
            tab.send(message)
            # A field that nobody knows may be of any length.
            tab.send(message.FromString(message.SerializeToString() + PADDING))
        message = BackMsg()
        message.backend_operation_request.install_skills.SetInParent()
        message.backend_operation_request.session_id = tab.session_id
        tab.send(message)
        message = BackMsg()
        message.app_heartbeat = True
        tab.send(message)
        answers = []
        for answer in tab.messages():
            answers.append(answer.WhichOneof("type"))
            assert not answer.session_status_changed.run_on_save
            if answers[-1] == "heartbeat_ack":
                break
        assert set(answers) <= {"heartbeat_ack", "session_status_changed"}
    assert "not in development mode" not in api_server.log.read_text()


def test_what_no_page_is_large_enough_to_send_is_dropped() -> None:
    """Neither parsed nor kept: values of widgets are held by the session."""
    message = BackMsg()
    state = message.rerun_script.widget_states.widgets.add(id="a")
    state.string_value = "x" * (1 << 22)
    assert _is_closed(message.SerializeToString())
    state.string_value = "x" * (1 << 21)
    assert not _is_closed(message.SerializeToString())


@pytest.mark.parametrize("name", sorted(CLOSED_MESSAGES - {"file_urls_request"}))
def test_a_closed_message_is_closed_however_it_is_padded(name: str) -> None:
    message = BackMsg()
    setattr(message, name, True)
    assert _is_closed(message.SerializeToString())
    assert _is_closed(PADDING + message.SerializeToString())
    assert _is_closed(message.SerializeToString() + PADDING)


def test_each_message_is_one_that_pages_send_or_closed() -> None:
    """A new one of a newer Streamlit is looked at first."""
    fields = BackMsg.DESCRIPTOR.fields_by_name
    sent = {"rerun_script", "stop_script", "app_heartbeat", "backend_operation_request"}
    assert set(fields) == sent | CLOSED_MESSAGES
    operations = fields["backend_operation_request"].message_type.oneofs_by_name["payload"].fields
    assert {field.name for field in operations} == {
        "deferred_file", "dataframe_chunk", *CLOSED_OPERATIONS
    }  # fmt: skip
