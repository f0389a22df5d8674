"""Traces behind URLs (s3://, gs://, https://, memory://, …), through fsspec."""

import hashlib
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec

from profiler_core.errors import BadInput
from profiler_core.home import cache_directory
from profiler_core.ingest.formats import trace_endings

_NO_TRACES = ("run.json", "capture.json", "sources.json", "trace_stacks.json", "meta.json")


# What stores call the hash or the time of a file, as fsspec hands it on.
_SAYS_A_CHANGE = (
    "ETag", "etag", "md5", "md5Hash", "mtime", "LastModified", "last_modified", "updated",
    "created",
)  # fmt: skip


def is_url(location: str) -> bool:
    """True for `scheme://…`."""
    return "://" in location


def listed(url: str, most: int) -> list[tuple[str, str]]:
    """(URL, name below the given one) of what is named like a trace, by name.

    Raises:
        BadInput: the store cannot be reached, or its driver is not installed.
    """
    with _explained(url):
        system, root = fsspec.core.url_to_fs(url)
        paths = system.find(root) if system.isdir(root) else [root]
        trace_paths = sorted(path for path in paths if _is_named_like_a_trace(path))[:most]
        below = root.rstrip("/") + "/"
        return [
            (system.unstrip_protocol(path), path.removeprefix(below) or PurePosixPath(path).name)
            for path in trace_paths
        ]


def versions_of(urls: Collection[str]) -> dict[str, str]:
    """Size and hash or time of each file, as its store says now; left out where it says neither.

    One listing for each folder. A store that cannot be reached says nothing.
    """
    by_folder: dict[str, list[str]] = {}
    for url in urls:
        by_folder.setdefault(url.rpartition("/")[0], []).append(url)
    versions: dict[str, str] = {}
    for folder, members in by_folder.items():
        with suppress(BadInput), _explained(folder):
            system, root = fsspec.core.url_to_fs(folder)
            system.invalidate_cache()
            described = {entry["name"]: entry for entry in system.ls(root, detail=True)}
            paths = {url: fsspec.core.url_to_fs(url)[1] for url in members}
            versions.update(_versions(described, paths))
    return versions


def _versions(described: Mapping[str, Any], paths: Mapping[str, str]) -> dict[str, str]:
    """By URL; a path that `described` has without a size, a hash or a time is left out."""
    versions = {}
    for url, path in paths.items():
        entry = described.get(path, {})
        told = [(key, str(entry[key])) for key in _SAYS_A_CHANGE if entry.get(key)]
        if told and entry.get("size") is not None:
            versions[url] = repr((entry["size"], told))
    return versions


@contextmanager
def fetched(url: str) -> Iterator[Path]:
    """The file behind a URL for as long as it is read; its columns stay, the copy goes.

    Raises:
        BadInput: it cannot be fetched.
    """
    folder = cache_directory() / "fetched"
    folder.mkdir(parents=True, exist_ok=True)
    key = hashlib.blake2b(url.encode(), digest_size=8).hexdigest()
    handle, text = tempfile.mkstemp(prefix=f"{key}.", suffix=f".{PurePosixPath(url).name}"[-80:],
                                    dir=folder)  # fmt: skip
    os.close(handle)
    try:
        with _explained(url):
            system, path = fsspec.core.url_to_fs(url)
            system.get_file(path, text)
        yield Path(text)
    finally:
        Path(text).unlink(missing_ok=True)


def download(url: str, path: Path) -> Path:
    """The file or folder behind a URL, copied to a path that does not exist yet.

    Raises:
        BadInput: it cannot be fetched.
    """
    with _explained(url):
        system, remote = fsspec.core.url_to_fs(url)
        if not system.isdir(remote):
            system.get_file(remote, str(path))
            return path
        names = list(files_below(url))
        path.mkdir()
        fetch_below(url, names, path)
    return path


def files_below(url: str) -> dict[str, tuple[float, float]]:
    """Each file below a URL: its path from there, with its bytes and its time (0: not known).

    Raises:
        BadInput: the store cannot be reached, or its driver is not installed.
    """
    with _explained(url):
        system, root = fsspec.core.url_to_fs(url)
        system.invalidate_cache()
        root = root.rstrip("/")
        if not system.exists(root):
            return {}
        files = system.find(root, detail=True)
        return {
            path.removeprefix(root + "/"): (
                float(about.get("size") or 0), float(_seconds(about.get("mtime")))
            )
            for path, about in files.items()
        }  # fmt: skip


def fetch_below(url: str, names: Collection[str], target: Path) -> None:
    """Copy files below a URL into a folder, below their paths.

    Raises:
        BadInput: one cannot be fetched, or its path leads out of the folder.
    """
    with _explained(url):
        system, root = fsspec.core.url_to_fs(url)
        for name in names:
            path = target / name
            if not path.resolve().is_relative_to(target.resolve()):
                raise BadInput(f"{name} leads out of {url}.", remedy="Fetch it by hand.")
            path.parent.mkdir(parents=True, exist_ok=True)
            system.get_file(f"{root.rstrip('/')}/{name}", str(path))


def _seconds(time: object) -> float:
    return time if isinstance(time, int | float) else 0.0


def _is_named_like_a_trace(path: str) -> bool:
    name = PurePosixPath(path).name.lower()
    return name.endswith(trace_endings()) and not name.startswith(_NO_TRACES)


@contextmanager
def _explained(url: str) -> Iterator[Any]:
    """A driver's failures as one sentence: each driver raises errors of its own library.

    What a `reference` says is rendered by Jinja, in older fsspec without its sandbox: it would run
    code of whoever wrote that file.
    """
    if any(link.partition("://")[0].strip().lower() == "reference" for link in url.split("::")):
        raise BadInput(
            f"{url} leads over a file of references, which may hold code.",
            remedy="Name the files or the folder of the traces themselves.",
        )
    try:
        yield
    except BadInput:
        raise
    except ImportError as error:
        raise BadInput(
            f"{url} needs a driver that is not installed: {error}.",
            remedy="Install it, such as s3fs for s3:// or gcsfs for gs://.",
        ) from error
    except Exception as error:  # botocore, aiohttp and others share no base class
        raise BadInput(
            f"{url} cannot be read: {type(error).__name__}: {error}.",
            remedy="Check the address and the access rights of this process.",
        ) from error
