"""A token for the visitor of this script run."""

from profiler_core.ui.routes.token import sign
from profiler_core.ui.sign_in.visitor import visitor


def signed(scope: str, subject: str) -> str:
    """As `token.sign`, for whoever the page is shown to; useless in any other hands."""
    who = visitor()
    return sign(scope, subject, holder=who.holder if who else "nobody")
