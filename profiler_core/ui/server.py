"""Who can reach this server: only this machine, or others too."""

from streamlit import config

from profiler_core.ui.sign_in.needed import is_needed

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_local_server() -> bool:
    """True where the server is bound to the local machine (design section 8).

    A server where people sign in never is: a proxy beside it may bring anybody.
    """
    address = str(config.get_option("server.address") or "").strip("[]").lower()
    return address in _LOOPBACK and not is_needed()


def local_url() -> str:
    """Where a browser on this machine finds the server; ends in "/"."""
    address = str(config.get_option("server.address") or "").strip("[]").lower()
    host = "localhost" if address in _LOOPBACK | {"", "0.0.0.0", "::"} else address  # noqa: S104
    base = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"http://{host}:{config.get_option('server.port')}/{base}{'/' if base else ''}"
