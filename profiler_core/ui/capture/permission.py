"""May this visitor start a capture? It runs code on this machine (docs/deploy.md)."""

from profiler_core.door.asker import why_no_capture as _why_no_capture
from profiler_core.ui.sign_in.asker import asker


def why_no_capture() -> str | None:
    """The sentence that says why not; None where captures may be started."""
    return _why_no_capture(asker())


def signed_in_as() -> str | None:
    """The address or name of who signed in; None on a server where nobody signs in."""
    who = asker()
    return who.person if who is not None and who.signed_in else None
