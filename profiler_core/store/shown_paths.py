"""What is told to somebody elsewhere, without the folders of this machine."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from profiler_core.errors import FusionscopeError
from profiler_core.home import home_directory
from profiler_core.resources import sample_traces_directory
from profiler_core.settings import settings
from profiler_core.store.library import roots

_REST = r"(?:/[^\s/\"'“”,;:]*[^\s/\"'“”,;:.])*"  # of a path that a sentence names

_CUT_AT = (300, 200, 120, 80, 60)  # characters at which sentences cut what they repeat


def without_server_paths(text: str, sent: Collection[str] = ()) -> str:
    """The same with keys of the library in place of paths into it.

    Of other files that the server keeps their names are left. Paths elsewhere stay: they are in
    the run.

    Args:
        text: a sentence, or an answer.
        sent: what was asked with. Where the text repeats one of these as a whole, or its beginning,
            it is given back as it came, so that nobody can try out which folders are the server's.
    """
    repeated = re.compile("|".join(map(re.escape, _repeated(text, sent))) or r"(?!)")
    between, came = repeated.split(text), repeated.findall(text)
    parts = [_without(part) for part in between]
    return "".join(part for pair in zip_longest(parts, came, fillvalue="") for part in pair)


def texts_in(value: object) -> Iterator[str]:
    """All texts of a request, names of its fields included, for `sent`."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, str):
            yield inner
        elif isinstance(inner, Mapping):
            waiting += [*inner, *inner.values()]
        elif isinstance(inner, list | tuple):
            waiting += inner


def _repeated(text: str, sent: Collection[str]) -> list[str]:
    """What of it holds a folder of the server, and stands in the text by itself; longest first."""
    secrets = set()
    for words in sent:
        if _without(words) != words:  # else nothing of it is touched
            cut = (words[:n] for n in (len(words), *_CUT_AT))
            secrets |= {shown for shown in cut if shown in text and _stands_alone(shown, text)}
    return sorted(secrets, key=len, reverse=True)


def _stands_alone(words: str, text: str) -> bool:
    """Whether a text repeats words, and not a longer path that they begin or end."""
    return re.search(rf"(?<![\w/.-]){re.escape(words)}(?![\w/-]|\.\w)", text) is not None


def _without(text: str) -> str:
    for prefix, root in roots().items():
        for folder in _written(root):
            text = re.sub(rf"{re.escape(folder)}/(?!\.)", f"{prefix}/", text)
    for folder in _own_folders():
        below = rf"{re.escape(folder)}(?![\w.-]){_REST}"
        text = re.sub(below, lambda path: path[0].rpartition("/")[2], text)
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
    paths = {text for folder in folders for text in _written(folder)}
    long_enough = (path for path in paths if path.count("/") > 1)
    yield from sorted(long_enough, key=len, reverse=True)


def _written(folder: Path) -> set[str]:
    """The folder as sentences write it, and as JSON does, which escapes some letters."""
    plain = {str(folder), str(folder.resolve())}
    escaped = {
        json.dumps(text, ensure_ascii=to_ascii) for text in plain for to_ascii in (True, False)
    }
    return plain | {text[1:-1] for text in escaped}
