"""Which addresses only this machine reaches."""

import ipaddress


def is_loopback(address: str) -> bool:
    """True for a name or number that only this machine reaches: localhost, 127.0.0.0/8, ::1."""
    try:
        number = ipaddress.ip_address(address.strip("[]"))
    except ValueError:
        return address.lower() == "localhost"
    inside = getattr(number, "ipv4_mapped", None)  # ::ffff:127.0.0.1, on a socket for both kinds
    return (inside or number).is_loopback
