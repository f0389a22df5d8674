"""Names of runs at the head of a table, where a column is narrower than the name of a file."""

import re
from html import escape

# At a hyphen or a space a browser breaks by itself.
_SEPARATOR = re.compile(r"(?<=[\w.])([_./]+)(?=\w)")


def breakable(label: str) -> str:
    """The name as HTML that breaks between its words, not in the middle of one."""
    return "<wbr>".join(escape(part) for part in _SEPARATOR.sub("\\1\n", label).split("\n"))
