"""What is told to somebody elsewhere, without the folders of this machine."""

import re
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

from profiler_core.errors import FusionscopeError
from profiler_core.home import home_directory
from profiler_core.resources import sample_traces_directory
from profiler_core.settings import settings
from profiler_core.store.library import roots

_REST = r"(?:/[^\s/\"'“”,;:]*[^\s/\"'“”,;:.])*"  # of a path that a sentence names


def without_server_paths(text: str, sent: Collection[str] = ()) -> str:
    """The same with keys of the library in place of paths into it.

    Of other files that the server keeps their names are left. Paths elsewhere stay: they are in
    the run.

    Args:
        text: a sentence, or an answer.
        sent: what was asked with: paths in it are given back as they came, so that nobody can try
            out which folders are the server's.
    """

    def in_place_of(path: re.Match[str], other: str) -> str:
        return path[0] if any(path[0] in words for words in sent) else other

    for prefix, root in roots().items():
        for folder in {str(root), str(root.resolve())}:
            into = rf"{re.escape(folder)}/(?!\.)"
            text = re.sub(into, partial(in_place_of, other=f"{prefix}/"), text)
    for folder in _own_folders():
        below = rf"{re.escape(folder)}(?![\w.-]){_REST}"
        text = re.sub(below, lambda path: in_place_of(path, path[0].rpartition("/")[2]), text)
    return text


def _own_folders() -> Iterator[str]:
    """Those in others first; none is so short that it begins every path."""
    folders = {home_directory(), sample_traces_directory().parent}
    try:
        url = settings().artifacts_url
    except FusionscopeError:  # the file is being edited
        url = None
    scheme, _, rest = (url or "").partition("://")
    if scheme == "file":
        folders.add(Path(rest))
    paths = {str(form) for folder in folders for form in (folder, folder.resolve())}
    long_enough = (path for path in paths if path.count("/") > 1)
    yield from sorted(long_enough, key=len, reverse=True)
