"""Pages under AppTest: opened alone, and read as text."""

import re
from pathlib import Path

from streamlit.testing.v1 import AppTest

PAGES = Path(__file__).resolve().parents[1] / "pages"


def opened(page, **query):
    """The page file alone, without the entry script; fails where it raises."""
    app = AppTest.from_file(str(PAGES / f"{page}.py"), default_timeout=300)
    for name, value in query.items():
        app.query_params[name] = value
    return checked(app.run())


def checked(app):
    """The same; fails where a page raised."""
    assert not app.exception, app.exception
    return app


def text_of(app):
    """All that stands on the page, HTML pieces included, where lines may end anywhere."""
    elements = (*app.get("html"), *app.markdown, *app.caption)
    text = "\n".join(
        str(getattr(e, "value", None) or getattr(e.proto, "body", "")) for e in elements
    )
    return re.sub(r"<wbr>|<span class=fs-whole>(.*?)</span>", r"\1", text).replace("\u00a0", " ")
