"""May this visitor start a capture? It runs code on this machine (docs/deploy.md)."""

from profiler_core.settings import FILE, settings
from profiler_core.ui.server import is_local_server
from profiler_core.ui.sign_in.needed import is_needed
from profiler_core.ui.sign_in.visitor import visitor


def why_no_capture() -> str | None:
    """The sentence that says why not; None where captures may be started."""
    who = visitor()
    if who is None:
        return "Captures run code on this server: sign in first."
    if is_local_server():
        return None
    if not settings().allow_capture:
        return (
            "Other machines can reach this server, and a capture runs code on it, so captures "
            f"are switched off here. Whoever runs the server can set allow_capture in {FILE}."
        )
    if not is_needed():
        return (
            "Captures run code on this server, and it does not know who you are: whoever runs it "
            f"can let people sign in, with [team] in {FILE}."
        )
    if not who.may("capture"):
        return (
            f"Your role here is {who.role or 'none'}: you may look. Captures run code on this "
            "server; whoever runs it can make you a runner."
        )
    return None


def signed_in_as() -> str | None:
    """The address or name of who signed in; None on a server where nobody signs in."""
    who = visitor()
    return who.person if who is not None and who.holder else None
