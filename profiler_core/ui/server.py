"""Who can reach this server: only this machine, or others too."""

import ipaddress
import sys

from streamlit import config

from profiler_core.errors import BadInput
from profiler_core.ui.sign_in.needed import is_needed

_EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - an empty address is one to Streamlit


def is_loopback(address: str) -> bool:
    """True for a name or number that only this machine reaches: localhost, 127.0.0.0/8, ::1."""
    try:
        number = ipaddress.ip_address(address.strip("[]"))
    except ValueError:
        return address.lower() == "localhost"
    inside = getattr(number, "ipv4_mapped", None)  # ::ffff:127.0.0.1, on a socket for both kinds
    return (inside or number).is_loopback


def is_local_server() -> bool:
    """True where the server is bound to the local machine.

    A server where people sign in never is: a proxy beside it may bring anybody.
    """
    return is_loopback(_address()) and not is_needed()


def refuse_public_address() -> None:
    """End the process where others would reach a server that asks nobody to sign in.

    Raises:
        SystemExit: with a sentence for the terminal; also where settings.toml, which may ask for a
            sign-in, cannot be used.
    """
    address = _address()
    if is_loopback(address):
        return
    try:
        if is_needed():
            return
    except BadInput as error:
        sys.exit(f"{error.problem} {error.remedy}")
    named = f"the address {address}" if address else "every address of this machine"
    sys.exit(
        f"Fusionscope does not start on {named}: whoever reaches it could run code as you, and "
        "nobody is asked to sign in. "
        "Use --server.address=localhost, or set up [team] and sign-in (docs/deploy.md)."
    )


def local_url() -> str:
    """Where a browser on this machine finds the server; ends in "/"."""
    address = _address().strip("[]").lower()
    is_usual = address in _EVERYWHERE | {"localhost", "127.0.0.1", "::1"}
    host = "localhost" if is_usual else address
    return f"http://{host}:{config.get_option('server.port')}{base_path()}/"


def base_path() -> str:
    """What stands before every path of this server: "" or "/" and server.baseUrlPath."""
    base = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""


def _address() -> str:
    return str(config.get_option("server.address") or "")
