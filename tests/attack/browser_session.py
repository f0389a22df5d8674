"""A browser's websocket to a dashboard: what a page's client sends, and what it is sent."""

from collections.abc import Iterator
from contextlib import contextmanager

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from tests.attack.servers import Dashboard, ask

_WITHIN_S = 240.0


class Session:
    """One open tab."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.session_id = ""

    def open(self, page: str, query: str = "") -> list[ForwardMsg]:
        """All messages of a run of this page."""
        message = BackMsg()
        message.rerun_script.page_name = page
        message.rerun_script.query_string = query
        return self.run(message)

    def run_part(self, fragment_id: str) -> list[ForwardMsg]:
        """Those of a part of the page that is open, and of what follows from it."""
        message = BackMsg()
        message.rerun_script.fragment_id = fragment_id
        return self.run(message)

    def file(self, file_id: str) -> str:
        """The address of the file behind a button that is clicked; empty: it is refused."""
        message = BackMsg()
        request = message.backend_operation_request
        request.request_id, request.session_id = "1", self.session_id
        request.deferred_file.file_id = file_id
        self.send(message)
        for answer in self.messages():
            if answer.WhichOneof("type") == "backend_operation_response":
                return answer.backend_operation_response.deferred_file.url
        raise AssertionError

    def send(self, message: BackMsg) -> None:
        """One message as it is."""
        self._socket.send(message.SerializeToString())

    def run(self, message: BackMsg) -> list[ForwardMsg]:
        """All messages of the run that this one asks for."""
        self.send(message)
        received = []
        for answer in self.messages():
            received.append(answer)
            kind = answer.WhichOneof("type")
            if kind == "new_session":
                self.session_id = answer.new_session.initialize.session_id
            # What is run anew in the middle ends with another word, and goes on.
            ended = answer.script_finished if kind == "script_finished" else None
            if ended in (
                ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
            ):  # fmt: skip
                return received
        raise AssertionError

    def messages(self) -> Iterator[ForwardMsg]:
        """What comes, as it comes."""
        while True:
            message = ForwardMsg()
            data = self._socket.recv(_WITHIN_S)
            assert isinstance(data, bytes)
            message.ParseFromString(data)
            yield message


@contextmanager
def session(server: Dashboard, cookie: str) -> Iterator[Session]:
    """A tab of a browser with this cookie."""
    health = ask(server.port, "/_stcore/health")
    xsrf = health.headers["set-cookie"].split(";")[0]
    token = xsrf.partition("=")[2].strip('"')
    origin = f"http://localhost:{server.port}"
    with connect(
        f"ws://localhost:{server.port}/_stcore/stream",
        origin=Origin(origin),
        subprotocols=[Subprotocol("streamlit"), Subprotocol(token)],
        additional_headers={"Cookie": f"{xsrf}; {cookie}"},
        max_size=None,
    ) as socket:
        yield Session(socket)


def text_of(messages: list[ForwardMsg]) -> str:
    """All that the browser was sent, as text."""
    return " ".join(message.SerializeToString().decode("utf-8", "replace") for message in messages)


def parts_of(messages: list[ForwardMsg]) -> set[str]:
    """The parts of the page that its client may run alone."""
    parts = {message.delta.fragment_id for message in messages}
    return parts - {""}


def file_ids_of(messages: list[ForwardMsg]) -> list[str]:
    """The files behind the buttons of the page."""
    elements = [message.delta.new_element for message in messages]
    ids = [element.download_button.deferred_file_id for element in elements]
    return [file_id for file_id in ids if file_id]
