r"""Paths of Windows in logs and graphs, as all others are written: `C:/Users/ada/net.py`.

What reads them further knows folders by slashes alone. Text of a log has `C:\Users\ada\net.py`,
strings in JSON have each backslash twice, and strings in these four times.
"""

import re

# Up to the .py: a backslash after a colon may also begin an escape, as in "x:\n".
_PATH = re.compile(r'(?<!\w)[A-Za-z]:(\\+)(?:[^\\/:*?"<>|\r\n]+\1)*[^\\/:*?"<>|\r\n]+?\.py\b')
_SEPARATOR = re.compile(r"\\+")


def with_slashes(text: str) -> str:
    """The text with the paths of Python files on a drive of Windows written with slashes."""
    if ":\\" not in text:
        return text
    return _PATH.sub(lambda path: _SEPARATOR.sub("/", path[0]), text)
