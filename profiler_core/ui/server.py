"""Who can reach this server: only this machine, or others too."""

from streamlit import config

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_local_server() -> bool:
    """True where the server is bound to the local machine (design section 8)."""
    return str(config.get_option("server.address") or "").strip("[]").lower() in _LOOPBACK
