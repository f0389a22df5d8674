"""What a browser sees that was not let in: one plain page, without any data."""

from html import escape

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response

from profiler_core.errors import FusionscopeError
from profiler_core.ui.routes.guard import problem

_TITLE = "This dashboard belongs to another user or another browser."
_REMEDY = (
    "Open the link that the terminal printed, or run `fusionscope open` "
    "as the user who started the dashboard."
)
_USED = "A link lets in one browser, once, within a day; this one was used or is too old."
_OF_ANOTHER = "This request was sent by a program of another user of the machine."
_AS_OWNER = (
    "Use a browser that runs as the user who started the dashboard, or forward the port by "
    "`ssh -L` as that user. What passes requests on must run as that user, or as root, and send "
    "no X-Forwarded-For."
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem}"
    "h1{font-size:1.25rem}code{font:13px ui-monospace,monospace}"
)


def refused(
    request: HTTPConnection,
    error: FusionscopeError | None = None,
    *,
    is_used_link: bool = False,
    is_of_another: bool = False,
) -> Response:
    """The page, or the same in JSON for a request that asks for no page.

    Args:
        request: it is refused.
        error: why it cannot even be told who may come in.
        is_used_link: it came with a link's token that is good no more.
        is_of_another: it has the owner's cookie, and comes from another user's process.
    """
    status = 403 if error is None else 503
    title, remedy = (_OF_ANOTHER, _AS_OWNER) if is_of_another else (_TITLE, _REMEDY)
    if error is not None:
        title, remedy = error.problem, error.remedy
    if "text/html" not in request.headers.get("accept", ""):
        response: Response = problem(status, title, remedy)
    else:
        note = f"<p>{escape(_USED)}</p>" if is_used_link else ""
        words = escape(remedy).replace("`fusionscope open`", "<code>fusionscope open</code>")
        response = HTMLResponse(
            "<!doctype html><html lang=en><meta charset=utf-8><title>Fusionscope</title>"
            f"<style>{_STYLE}</style><h1>{escape(title)}</h1>{note}<p>{words}</p></html>",
            status_code=status,
        )
    response.headers.update(_HEADERS)
    return response
