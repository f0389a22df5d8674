"""Browser sessions without browsers: clients that speak Streamlit's own protocol.

A session opens a page as a browser does, runs its script again as a click does, and reads all that
the server sends, so that the server's processor time and memory are those of real sessions.
"""

from types import TracebackType
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

_TIMEOUT_S = 300.0


class Session:
    """One browser tab.

    Args:
        url: of the server, without a slash at its end.
        cookie: as a browser sends it.
    """

    def __init__(self, url: str, cookie: str) -> None:
        self._url = url
        address = urlsplit(url)
        self._socket: ClientConnection = connect(
            f"ws://{address.netloc}/_stcore/stream",
            additional_headers={"Cookie": cookie, "Origin": url},
            subprotocols=[Subprotocol("streamlit")],
            max_size=None,
        )

    def __enter__(self) -> "Session":
        """Nothing to do: it is open."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the tab."""
        self._socket.close()

    def show(self, page: str, query: str = "") -> int:
        """Run the script of a page to its end; how many bytes the server sent.

        Raises:
            RuntimeError: the page showed an exception.
        """
        message = BackMsg()
        message.rerun_script.query_string = query
        message.rerun_script.page_name = page
        message.rerun_script.context_info.url = f"{self._url}/{page}?{query}"
        self._socket.send(message.SerializeToString())
        n_bytes = 0
        while True:
            content = self._socket.recv(timeout=_TIMEOUT_S)
            if isinstance(content, str):
                continue
            n_bytes += len(content)
            answer = ForwardMsg()
            answer.ParseFromString(content)
            kind = answer.WhichOneof("type")
            if kind == "delta" and answer.delta.new_element.HasField("exception"):
                raise RuntimeError(answer.delta.new_element.exception.message)
            if kind == "script_finished":
                return n_bytes
